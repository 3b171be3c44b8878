//! The `train.optimizer` table: the update rule and the constants that it uses.

use super::schedule::{Schedule, ScheduleKind};
use super::section::{Choices, Problems, Section};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The update rule and its constants. A field that `kind` does not use keeps its default and is not written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    /// Which rule.
    pub kind: OptimizerKind,
    /// Learning rate before the schedule, above 0. `adafactor` with relative steps has none of its own: 0.01 is the most
    /// its steps can be, as a share of the weights.
    pub lr: f32,
    /// `momentum`: share of the previous velocity that is kept. Default 0.9.
    pub momentum: f32,
    /// `momentum`: look ahead by one velocity step (Nesterov 1983, in the form of Sutskever et al. 2013).
    pub nesterov: bool,
    /// `adam`, `adamw`, `lion`: decay of the mean of the gradient. Default 0.9.
    pub beta1: f32,
    /// `adam`, `adamw`: decay of the mean of the squared gradient, default 0.999; `lion`: of the mean, default 0.99.
    pub beta2: f32,
    /// `adam`, `adamw`: added to the root of the second moment after its bias is corrected. Default 1e-8.
    pub eps: f32,
    /// Pull of the weights towards zero: added to the gradient (L2), or for `adamw`, `adamw8bit`, `lion` and `adafactor`
    /// taken from the weights directly. Default 0, for `adamw` and `adamw8bit` 0.01.
    pub weight_decay: f32,
    /// `adamw8bit`: elements that share one scale, a multiple of 4. Default 256.
    pub block: usize,
    /// `adafactor`: the step is a share of the weights that falls with the number of the update; else it is `lr`.
    pub relative_step: bool,
    /// `adafactor`: the share rises from 1e-6 at first.
    pub warmup_init: bool,
    /// `adafactor`: largest root mean square of an update before the rate. Default 1.
    pub clip_threshold: f32,
}

/// Tensors with fewer elements keep F32 state under `adamw8bit`, as in bitsandbytes.
pub const MIN_8BIT_ELEMENTS: usize = 4096;

/// The most a relative step of Adafactor can be (Shazeer and Stern 2018, section 8).
const MAX_RELATIVE_STEP: f32 = 0.01;

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
    /// AdamW with both moments in 8 bits and one scale for a block of them (Dettmers et al. 2021, arXiv:2110.02861).
    Adamw8bit,
    /// The sign of a mean of gradients (Chen et al. 2023, arXiv:2302.06675): one state value per weight.
    Lion,
    /// A second moment of one value per row and column (Shazeer and Stern 2018, arXiv:1804.04235).
    Adafactor,
}

/// All rules.
pub const OPTIMIZERS: [OptimizerKind; 7] = [
    OptimizerKind::Sgd,
    OptimizerKind::Momentum,
    OptimizerKind::Adam,
    OptimizerKind::Adamw,
    OptimizerKind::Adamw8bit,
    OptimizerKind::Lion,
    OptimizerKind::Adafactor,
];

const KINDS: Choices<OptimizerKind> = Choices {
    allowed: &[
        ("sgd", OptimizerKind::Sgd),
        ("momentum", OptimizerKind::Momentum),
        ("adam", OptimizerKind::Adam),
        ("adamw", OptimizerKind::Adamw),
        ("adamw8bit", OptimizerKind::Adamw8bit),
        ("lion", OptimizerKind::Lion),
        ("adafactor", OptimizerKind::Adafactor),
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
            Self::Adamw8bit => "adamw8bit",
            Self::Lion => "lion",
            Self::Adafactor => "adafactor",
        }
    }

    /// Fields of the table that this rule uses beside `kind`.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &["lr", "weight_decay"],
            Self::Momentum => &["lr", "momentum", "nesterov", "weight_decay"],
            Self::Adam | Self::Adamw => &["lr", "beta1", "beta2", "eps", "weight_decay"],
            Self::Adamw8bit => &["lr", "beta1", "beta2", "eps", "weight_decay", "block"],
            Self::Lion => &["lr", "beta1", "beta2", "weight_decay"],
            Self::Adafactor => &[
                "lr",
                "relative_step",
                "warmup_init",
                "clip_threshold",
                "weight_decay",
            ],
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
            beta2: match kind {
                OptimizerKind::Lion => 0.99,
                _ => 0.999,
            },
            eps: 1e-8,
            weight_decay: match kind {
                OptimizerKind::Adamw | OptimizerKind::Adamw8bit => 0.01,
                _ => 0.0,
            },
            block: 256,
            relative_step: false,
            warmup_init: false,
            clip_threshold: 1.0,
        }
    }

    /// Adafactor with steps relative to the weights, as its paper has it.
    pub fn adafactor() -> Self {
        Self {
            relative_step: true,
            ..Self::new(OptimizerKind::Adafactor, MAX_RELATIVE_STEP)
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
        let (lr, relative_step) = if kind == OptimizerKind::Adafactor {
            Self::read_step(&mut section)
        } else {
            let lr = section.required("lr", "a learning rate such as 0.001", default.lr);
            (lr, section.used_or("relative_step", false, false))
        };
        let optimizer = Self {
            kind,
            lr,
            relative_step,
            warmup_init: section.used_or("warmup_init", used("warmup_init"), false),
            clip_threshold: section.used_or(
                "clip_threshold",
                used("clip_threshold"),
                default.clip_threshold,
            ),
            block: section.used_or("block", used("block"), default.block),
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

    /// Adafactor takes its rate or its relative steps, and takes the one that is not said from the other.
    fn read_step(section: &mut Section<'_>) -> (f32, bool) {
        let relative = section.optional("relative_step", true);
        let lr: Option<f32> = section.optional("lr", MAX_RELATIVE_STEP);
        match (lr, relative) {
            (Some(_), Some(true)) => {
                let reason = "cannot be combined with train.optimizer.relative_step = true, which sets the step itself; \
                    remove lr, or set relative_step = false";
                section.refuse("lr", reason);
                (MAX_RELATIVE_STEP, true)
            }
            (Some(lr), _) => (lr, false),
            (None, Some(false)) => {
                let what =
                    "a learning rate such as 0.001, or set train.optimizer.relative_step = true";
                (section.required("lr", what, MAX_RELATIVE_STEP), false)
            }
            (None, _) => (MAX_RELATIVE_STEP, true),
        }
    }

    /// What the schedule cannot be with this rule.
    pub(super) fn check_schedule(&self, schedule: &Schedule, problems: &Problems) {
        if !self.relative_step {
            return;
        }
        let reason = "cannot be combined with train.optimizer.relative_step = true, which sets the step itself; remove \
            it (train.optimizer.warmup_init = true starts gently), or give train.optimizer.lr";
        if schedule.kind != ScheduleKind::Constant {
            problems.value("train.schedule.kind", schedule.kind.name(), reason);
        }
        if schedule.warmup > 0 {
            problems.value("train.schedule.warmup", schedule.warmup, reason);
        }
    }

    pub(super) fn check(&self, problems: &Problems) {
        if self.warmup_init && !self.relative_step {
            let reason = "cannot be combined with train.optimizer.relative_step = false, of whose steps it is the start; \
                remove lr and relative_step, or use train.schedule.warmup";
            problems.value("train.optimizer.warmup_init", true, reason);
        }
        if self.block == 0 || !self.block.is_multiple_of(4) {
            let allowed = "must be a multiple of 4 elements, such as 256";
            problems.value("train.optimizer.block", self.block, allowed);
        }
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
                "clip_threshold",
                self.clip_threshold,
                positive(self.clip_threshold),
                above_zero,
            ),
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
        // The rate of relative steps is no field: reading refuses it.
        let written = |field: &&&str| !(self.relative_step && **field == "lr");
        let fields: Vec<&str> = self.kind.fields().iter().filter(written).copied().collect();
        let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
        map.serialize_entry("kind", &self.kind)?;
        for field in fields {
            match field {
                "block" => map.serialize_entry(field, &self.block)?,
                "relative_step" => map.serialize_entry(field, &self.relative_step)?,
                "warmup_init" => map.serialize_entry(field, &self.warmup_init)?,
                "clip_threshold" => map.serialize_entry(field, &self.clip_threshold)?,
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
