//! The `[model]` section: which network is built.

use super::section::{Choices, Problems, Section};
use serde::Serialize;

/// The network, chosen by `model.kind`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Model {
    /// `kind = "mlp"`: fully connected layers.
    Mlp(Mlp),
}

/// A multi-layer perceptron: linear layers with an activation and dropout after each hidden one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mlp {
    /// Width of each hidden layer, first to last. An empty list makes a linear classifier.
    pub hidden: Vec<usize>,
    /// The function between the layers.
    pub activation: Activation,
    /// Share of each hidden layer's outputs set to zero in training, at least 0 and below 1.
    pub dropout: f32,
}

/// The function applied to every element between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// x Φ(x) with the exact normal distribution function (Hendrycks and Gimpel 2016, arXiv:1606.08415).
    Gelu,
    /// The tanh approximation of GELU given in the same paper.
    GeluTanh,
}

#[derive(Clone, Copy)]
enum Kind {
    Mlp,
}

const KINDS: Choices<Kind> = Choices {
    allowed: &[("mlp", Kind::Mlp)],
    later: &["cnn", "mobilenet", "efficientnet", "transformer"],
};

const ACTIVATIONS: Choices<Activation> = Choices {
    allowed: &[
        ("relu", Activation::Relu),
        ("gelu", Activation::Gelu),
        ("gelu_tanh", Activation::GeluTanh),
    ],
    later: &[],
};

impl Model {
    /// The word for this network in an experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mlp(_) => "mlp",
        }
    }

    pub(super) fn read(mut section: Section<'_>) -> Self {
        let Some(kind) = section.choice("kind", &KINDS) else {
            // Which fields are allowed depends on the kind, so without one there is nothing more to say.
            return Self::Mlp(Mlp {
                hidden: Vec::new(),
                activation: Activation::Relu,
                dropout: 0.0,
            });
        };
        let model = match kind {
            Kind::Mlp => Self::Mlp(Mlp {
                hidden: section.required("hidden", "a list of widths such as [512, 512]", vec![]),
                activation: section.choice_or("activation", &ACTIVATIONS, Activation::Relu),
                dropout: section.or_default("dropout", 0.0),
            }),
        };
        section.finish();
        model
    }

    pub(super) fn check(&self, problems: &Problems) {
        match self {
            Self::Mlp(mlp) => mlp.check(problems),
        }
    }
}

impl Mlp {
    fn check(&self, problems: &Problems) {
        for (layer, width) in self.hidden.iter().enumerate() {
            // Kernels count features in 32 bits.
            if *width < 1 || u32::try_from(*width).is_err() {
                let path = format!("model.hidden[{layer}]");
                problems.value(&path, width, "a width must be 1 to 4294967295");
            }
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let allowed = "must be at least 0 and below 1 (the share of outputs set to zero)";
            problems.value("model.dropout", self.dropout, allowed);
        }
    }
}
