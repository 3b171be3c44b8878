//! The `[model]` section: which network is built.

use super::bounds::check_dropout;
use super::image_model::{Cnn, EfficientNet, MobileNet};
use super::section::{Choices, Problems, Section};
use super::transformer::Transformer;
use serde::Serialize;

/// The network, chosen by `model.kind`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Model {
    /// `kind = "mlp"`: fully connected layers.
    Mlp(Mlp),
    /// `kind = "cnn"`: plain convolutions.
    Cnn(Cnn),
    /// `kind = "mobilenet"`: depthwise-separable convolutions.
    #[serde(rename = "mobilenet")]
    MobileNet(MobileNet),
    /// `kind = "efficientnet"`: inverted bottlenecks with squeeze-and-excitation.
    #[serde(rename = "efficientnet")]
    EfficientNet(EfficientNet),
    /// `kind = "transformer"`: a decoder that predicts the next token of a text.
    Transformer(Transformer),
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
    Cnn,
    MobileNet,
    EfficientNet,
    Transformer,
}

const KINDS: Choices<Kind> = Choices {
    allowed: &[
        ("mlp", Kind::Mlp),
        ("cnn", Kind::Cnn),
        ("mobilenet", Kind::MobileNet),
        ("efficientnet", Kind::EfficientNet),
        ("transformer", Kind::Transformer),
    ],
    later: &[],
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
            Self::Cnn(_) => "cnn",
            Self::MobileNet(_) => "mobilenet",
            Self::EfficientNet(_) => "efficientnet",
            Self::Transformer(_) => "transformer",
        }
    }

    /// Tokens of a sample, for a model that reads text.
    pub fn context(&self) -> Option<usize> {
        match self {
            Self::Transformer(transformer) => Some(transformer.context),
            _ => None,
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
            Kind::Cnn => Self::Cnn(Cnn::read(&mut section)),
            Kind::MobileNet => Self::MobileNet(MobileNet::read(&mut section)),
            Kind::EfficientNet => Self::EfficientNet(EfficientNet::read(&mut section)),
            Kind::Transformer => Self::Transformer(Transformer::read(&mut section)),
        };
        section.finish();
        model
    }

    pub(super) fn check(&self, problems: &Problems) {
        match self {
            Self::Mlp(mlp) => mlp.check(problems),
            Self::Cnn(cnn) => cnn.check(problems),
            Self::MobileNet(mobilenet) => mobilenet.check(problems),
            Self::EfficientNet(efficientnet) => efficientnet.check(problems),
            Self::Transformer(transformer) => transformer.check(problems),
        }
    }
}

impl Default for Mlp {
    fn default() -> Self {
        Self {
            hidden: vec![64, 64],
            activation: Activation::Relu,
            dropout: 0.0,
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
        check_dropout(self.dropout, problems);
    }
}
