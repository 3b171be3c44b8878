//! The `train.optimizer` table: the update rule and the constants that it uses.

use super::section::{Choices, Problems, Section};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The update rule and its constants. A field that `kind` does not use keeps its default and is not written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    /// Which rule.
    pub kind: OptimizerKind,
    /// Learning rate before the schedule, above 0.
    pub lr: f32,
    /// `momentum`: share of the previous velocity that is kept. Default 0.9.
    pub momentum: f32,
    /// `momentum`: look ahead by one velocity step (Nesterov 1983, in the form of Sutskever et al. 2013).
    pub nesterov: bool,
    /// `adam`, `adamw`: decay of the mean of the gradient. Default 0.9.
    pub beta1: f32,
    /// `adam`, `adamw`: decay of the mean of the squared gradient. Default 0.999.
    pub beta2: f32,
    /// `adam`, `adamw`: added to the root of the second moment. Default 1e-8.
    pub eps: f32,
    /// Pull of the weights towards zero: added to the gradient (L2), or for `adamw` taken from the weights directly.
    /// Default 0, for `adamw` 0.01.
    pub weight_decay: f32,
}

/// The rule by which an optimizer changes the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimizerKind {
    /// Stochastic gradient descent without state.
    Sgd,
    /// Gradient descent with momentum (Polyak 1964): one state value per weight.
    Momentum,
    /// Adam (Kingma and Ba 2014, arXiv:1412.6980): two state values per weight.
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2017, arXiv:1711.05101).
    Adamw,
}

const KINDS: Choices<OptimizerKind> = Choices {
    allowed: &[
        ("sgd", OptimizerKind::Sgd),
        ("momentum", OptimizerKind::Momentum),
        ("adam", OptimizerKind::Adam),
        ("adamw", OptimizerKind::Adamw),
    ],
    later: &[],
};

impl OptimizerKind {
    /// The word for this rule in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Momentum => "momentum",
            Self::Adam => "adam",
            Self::Adamw => "adamw",
        }
    }

    /// Fields of the table that this rule uses beside `kind`.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &["lr", "weight_decay"],
            Self::Momentum => &["lr", "momentum", "nesterov", "weight_decay"],
            Self::Adam | Self::Adamw => &["lr", "beta1", "beta2", "eps", "weight_decay"],
        }
    }
}

impl Optimizer {
    /// The rule `kind` with learning rate `lr` and default constants.
    pub fn new(kind: OptimizerKind, lr: f32) -> Self {
        Self {
            kind,
            lr,
            momentum: 0.9,
            nesterov: false,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: if kind == OptimizerKind::Adamw {
                0.01
            } else {
                0.0
            },
        }
    }

    pub(super) fn read(mut section: Section<'_>) -> Self {
        // The stand-in for a rate that cannot be read passes every check.
        let stand_in = Self::new(OptimizerKind::Sgd, 1.0);
        let Some(kind) = section.choice("kind", &KINDS) else {
            return stand_in;
        };
        let default = Self::new(kind, stand_in.lr);
        let used = |field: &str| kind.fields().contains(&field);
        let optimizer = Self {
            kind,
            lr: section.required("lr", "a learning rate such as 0.001", default.lr),
            momentum: section.used_or("momentum", used("momentum"), default.momentum),
            nesterov: section.used_or("nesterov", used("nesterov"), default.nesterov),
            beta1: section.used_or("beta1", used("beta1"), default.beta1),
            beta2: section.used_or("beta2", used("beta2"), default.beta2),
            eps: section.used_or("eps", used("eps"), default.eps),
            weight_decay: section.or_default("weight_decay", default.weight_decay),
        };
        section.finish();
        optimizer
    }

    pub(super) fn check(&self, problems: &Problems) {
        let positive = |x: f32| x.is_finite() && x > 0.0;
        let share = |x: f32| (0.0..1.0).contains(&x);
        let above_zero = "must be a finite number above 0";
        let below_one = "must be at least 0 and below 1";
        for (field, value, fine, allowed) in [
            ("lr", self.lr, positive(self.lr), above_zero),
            ("momentum", self.momentum, share(self.momentum), below_one),
            ("beta1", self.beta1, share(self.beta1), below_one),
            ("beta2", self.beta2, share(self.beta2), below_one),
            ("eps", self.eps, positive(self.eps), above_zero),
            (
                "weight_decay",
                self.weight_decay,
                self.weight_decay.is_finite() && self.weight_decay >= 0.0,
                "must be a finite number, 0 or above",
            ),
        ] {
            if !fine {
                problems.value(&format!("train.optimizer.{field}"), value, allowed);
            }
        }
    }
}

impl Serialize for OptimizerKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Optimizer {
    /// Writes the fields that the rule uses, because reading refuses the others.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.kind.fields();
        let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
        map.serialize_entry("kind", &self.kind)?;
        for &field in fields {
            match field {
                "momentum" => map.serialize_entry(field, &self.momentum)?,
                "nesterov" => map.serialize_entry(field, &self.nesterov)?,
                "beta1" => map.serialize_entry(field, &self.beta1)?,
                "beta2" => map.serialize_entry(field, &self.beta2)?,
                "eps" => map.serialize_entry(field, &self.eps)?,
                "weight_decay" => map.serialize_entry(field, &self.weight_decay)?,
                _ => map.serialize_entry(field, &self.lr)?,
            }
        }
        map.end()
    }
}
