//! The `[techniques]` section: what is done to need less memory, and which of it goes together.

use super::field::{Field, quote, suggestion, type_of};
use super::section::{Choices, Problems, Section};
use super::train::Train;
use crate::units::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toml::Value;

/// What is done to need less memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Techniques {
    /// Number format that products, activations and the weights they read are stored in.
    pub precision: Precision,
    /// How the loss is scaled up so that small gradients survive in F16; none without scaling.
    #[serde(serialize_with = "scale_or_off")]
    pub loss_scale: Option<LossScale>,
    /// Number of micro-batches an update is split into; 1 is no accumulation.
    pub accumulate: usize,
    /// Which results of the forward pass are kept; the others are computed a second time.
    pub checkpoint: Checkpoint,
    /// Which cheap results are computed a second time instead of kept.
    pub recompute: Recompute,
    /// Format in which activations wait for the backward pass.
    pub compress: Compress,
    /// What waits in the memory of the host.
    pub offload: Offload,
    /// How long values keep their bytes.
    pub lifetimes: Lifetimes,
    /// Operations that can write over their input, where nobody reads it later; has no effect under naive lifetimes.
    pub in_place: bool,
    /// Each weight is updated inside the backward pass and its gradient freed at once.
    pub release_gradients: bool,
}

/// Number format that values are stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// IEEE half precision with F32 arithmetic and F32 master weights (Micikevicius et al. 2017, arXiv:1710.03740).
    F16,
    /// The upper half of an F32, with F32 arithmetic and F32 master weights.
    Bf16,
}

/// Dynamic loss scaling: the scale doubles after `growth_every` good updates in a row and halves when a gradient is no
/// finite number; that update is then not made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossScale {
    /// The scale of the first update, a power of two.
    pub initial: f32,
    /// Good updates in a row after which it doubles.
    pub growth_every: usize,
}

/// Which results of the forward pass are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checkpoint {
    /// All that the backward pass reads.
    #[default]
    Off,
    /// One after every `n` blocks (Chen et al. 2016, arXiv:1604.06174).
    Every(usize),
    /// One after every √n of n blocks.
    Sqrt,
    /// Those that keep the peak under this many bytes with the least work done twice.
    Budget(Bytes),
}

/// Which cheap results are computed twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recompute {
    /// None.
    #[default]
    None,
    /// Those of operations that multiply no matrices: activation functions, norms, dropout, sums.
    Cheap,
}

/// How activations wait for the backward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compress {
    /// As they were made.
    #[default]
    None,
    /// As F16.
    F16,
    /// As 8-bit integers with one F32 scale for a block of elements.
    Int8,
}

/// What waits in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offload {
    /// Nothing.
    #[default]
    None,
    /// The optimizer's state.
    Optimizer,
    /// The checkpoints between forward and backward.
    Checkpoints,
    /// Both.
    Both,
}

/// How long values keep their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetimes {
    /// To their last use.
    #[default]
    Tight,
    /// To the end of the step, as in a script that holds on to every result.
    Naive,
}

const PRECISIONS: Choices<Precision> = Choices {
    allowed: &[
        ("f32", Precision::F32),
        ("f16", Precision::F16),
        ("bf16", Precision::Bf16),
    ],
    later: &[],
};

const RECOMPUTES: Choices<Recompute> = Choices {
    allowed: &[("none", Recompute::None), ("cheap", Recompute::Cheap)],
    later: &[],
};

const COMPRESSIONS: Choices<Compress> = Choices {
    allowed: &[
        ("none", Compress::None),
        ("f16", Compress::F16),
        ("int8", Compress::Int8),
    ],
    later: &[],
};

const OFFLOADS: Choices<Offload> = Choices {
    allowed: &[
        ("none", Offload::None),
        ("optimizer", Offload::Optimizer),
        ("checkpoints", Offload::Checkpoints),
        ("both", Offload::Both),
    ],
    later: &[],
};

const LIFETIMES: Choices<Lifetimes> = Choices {
    allowed: &[("tight", Lifetimes::Tight), ("naive", Lifetimes::Naive)],
    later: &[],
};

/// The scale of the first update and the growth of PyTorch's `GradScaler`.
const LOSS_SCALE: LossScale = LossScale {
    initial: 65536.0,
    growth_every: 2000,
};

impl Precision {
    /// The word in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

impl Offload {
    /// Whether the optimizer's state waits on the host.
    pub fn optimizer(self) -> bool {
        matches!(self, Self::Optimizer | Self::Both)
    }

    /// Whether checkpoints wait on the host.
    pub fn checkpoints(self) -> bool {
        matches!(self, Self::Checkpoints | Self::Both)
    }
}

impl Default for Techniques {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            loss_scale: None,
            accumulate: 1,
            checkpoint: Checkpoint::default(),
            recompute: Recompute::default(),
            compress: Compress::default(),
            offload: Offload::default(),
            lifetimes: Lifetimes::default(),
            in_place: true,
            release_gradients: false,
        }
    }
}

impl Techniques {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let default = Self::default();
        let precision = section.choice_or("precision", &PRECISIONS, default.precision);
        let techniques = Self {
            precision,
            loss_scale: match section.optional("loss_scale", Scaling::Off) {
                None => (precision == Precision::F16).then_some(LOSS_SCALE),
                Some(Scaling::Off) => None,
                Some(Scaling::Dynamic(scale)) => Some(scale),
            },
            accumulate: section.or_default("accumulate", default.accumulate),
            checkpoint: section.or_default("checkpoint", default.checkpoint),
            recompute: section.choice_or("recompute", &RECOMPUTES, default.recompute),
            compress: section.choice_or("compress", &COMPRESSIONS, default.compress),
            offload: section.choice_or("offload", &OFFLOADS, default.offload),
            lifetimes: section.choice_or("lifetimes", &LIFETIMES, default.lifetimes),
            in_place: section.or_default("in_place", default.in_place),
            release_gradients: section.or_default("release_gradients", default.release_gradients),
        };
        section.finish();
        techniques
    }

    /// The number format with its default loss scaling.
    pub fn set_precision(&mut self, precision: Precision) {
        self.precision = precision;
        self.loss_scale = (precision == Precision::F16).then_some(LOSS_SCALE);
    }

    pub(super) fn check(&self, batch: usize, train: &Train, problems: &Problems) {
        // A batch of 0 is a problem of its own and says nothing about this field.
        if self.accumulate < 1 || self.accumulate > batch.max(1) {
            let allowed = format!("must be 1 to data.batch ({batch}) micro-batches");
            problems.value("techniques.accumulate", self.accumulate, &allowed);
        }
        match self.checkpoint {
            Checkpoint::Every(0) => {
                problems.value("techniques.checkpoint.every", 0, "must be 1 or more blocks");
            }
            Checkpoint::Budget(Bytes(0)) => {
                problems.value("techniques.checkpoint.budget", 0, "must be 1 byte or more");
            }
            _ => {}
        }
        if let Some(scale) = self.loss_scale {
            scale.check(problems);
        }
        for (field, value, reason) in self.conflicts(train) {
            problems.value(&format!("techniques.{field}"), value, &reason);
        }
    }

    /// Pairs that do not go together, each with the field to change, its value and the reason.
    fn conflicts(&self, train: &Train) -> Vec<(&'static str, &'static str, String)> {
        let mut all = Vec::new();
        if self.loss_scale.is_some() && self.precision == Precision::F32 {
            let reason = "cannot be combined with techniques.precision = \"f32\": F32 has room for small gradients; \
                set precision = \"f16\" or \"bf16\", or remove loss_scale";
            all.push(("loss_scale", "dynamic", reason.into()));
        }
        if self.release_gradients {
            if self.accumulate > 1 {
                let reason = format!(
                    "cannot be combined with techniques.accumulate = {}: a gradient that is freed at once cannot be \
                     added up over micro-batches; set accumulate = 1",
                    self.accumulate
                );
                all.push(("release_gradients", "true", reason));
            }
            if let Some(clip) = train.clip {
                let reason = format!(
                    "cannot be combined with train.clip = {clip}: the norm of the whole gradient is known only after \
                     every layer has been updated; remove clip"
                );
                all.push(("release_gradients", "true", reason));
            }
        }
        if self.compress == Compress::F16 && self.precision != Precision::F32 {
            let reason = format!(
                "cannot be combined with techniques.precision = \"{}\": activations have 16 bits there already; take \
                 compress = \"int8\" or \"none\"",
                self.precision.name()
            );
            all.push(("compress", "f16", reason));
        }
        if self.offload.checkpoints() && self.checkpoint == Checkpoint::Off {
            let reason = "cannot be combined with techniques.checkpoint = \"off\": there are no checkpoints to \
                offload; set checkpoint, or take offload = \"optimizer\"";
            all.push(("offload", "checkpoints", reason.into()));
        }
        if self.offload.optimizer() && train.optimizer.kind == super::OptimizerKind::Sgd {
            let reason = "cannot be combined with train.optimizer.kind = \"sgd\": it keeps no state to offload";
            all.push(("offload", "optimizer", reason.into()));
        }
        all
    }
}

impl LossScale {
    /// The scale never falls below 1, where it does nothing, nor rises above 2^24.
    pub const FLOOR: f32 = 1.0;
    /// See [`LossScale::FLOOR`].
    pub const CEILING: f32 = 16_777_216.0;

    fn check(self, problems: &Problems) {
        // A power of two has no mantissa; only such a scale can be taken off again without a rounding.
        let is_power = self.initial.to_bits() & 0x007f_ffff == 0;
        if !(is_power && (Self::FLOOR..=Self::CEILING).contains(&self.initial)) {
            let allowed = "must be a power of two from 1 to 16777216";
            problems.value("techniques.loss_scale.initial", self.initial, allowed);
        }
        if self.growth_every < 1 {
            let allowed = "must be 1 or more updates";
            problems.value(
                "techniques.loss_scale.growth_every",
                self.growth_every,
                allowed,
            );
        }
    }
}

/// What `loss_scale` can be.
#[derive(Clone, Copy)]
enum Scaling {
    Off,
    Dynamic(LossScale),
}

impl Field for Scaling {
    fn read(value: &Value) -> Result<Self, String> {
        let form = "expected \"dynamic\", \"off\" or { initial = 65536, growth_every = 2000 }";
        match value {
            Value::String(word) if word == "off" => Ok(Self::Off),
            Value::String(word) if word == "dynamic" => Ok(Self::Dynamic(LOSS_SCALE)),
            Value::Table(table) => {
                let mut scale = LOSS_SCALE;
                for (key, value) in table {
                    match key.as_str() {
                        "initial" => scale.initial = f32::read(value).map_err(in_field(key))?,
                        "growth_every" => {
                            scale.growth_every = usize::read(value).map_err(in_field(key))?;
                        }
                        other => return Err(unknown(other, &["initial", "growth_every"])),
                    }
                }
                Ok(Self::Dynamic(scale))
            }
            other => Err(format!("{form}, found {}", found(other))),
        }
    }
}

impl Field for Checkpoint {
    fn read(value: &Value) -> Result<Self, String> {
        let form = "expected \"off\", \"sqrt\", { every = 2 } or { budget = \"16 MiB\" }";
        let Value::Table(table) = value else {
            return match value.as_str() {
                Some("off") => Ok(Self::Off),
                Some("sqrt") => Ok(Self::Sqrt),
                _ => Err(format!("{form}, found {}", found(value))),
            };
        };
        let mut entries = table.iter();
        let (Some((key, value)), None) = (entries.next(), entries.next()) else {
            return Err(format!("{form}, found {} fields", table.len()));
        };
        match key.as_str() {
            "every" => Ok(Self::Every(usize::read(value).map_err(in_field(key))?)),
            "budget" => Ok(Self::Budget(Bytes::read(value).map_err(in_field(key))?)),
            other => Err(unknown(other, &["every", "budget"])),
        }
    }
}

fn in_field(key: &str) -> impl Fn(String) -> String + '_ {
    move |message| format!("{key}: {message}")
}

fn unknown(key: &str, allowed: &[&'static str]) -> String {
    let near = suggestion(key, allowed.iter().copied());
    format!("unknown field {key}; allowed: {}{near}", allowed.join(", "))
}

/// A word as it was written, and the type of anything else.
fn found(value: &Value) -> String {
    match value {
        Value::String(_) => quote(value),
        other => type_of(other).to_owned(),
    }
}

#[expect(
    clippy::ref_option,
    reason = "serde passes the field by reference, whatever its type"
)]
fn scale_or_off<S: Serializer>(
    scale: &Option<LossScale>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match scale {
        Some(scale) => scale.serialize(serializer),
        None => serializer.serialize_str("off"),
    }
}

impl Serialize for Checkpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, number) = match self {
            Self::Off => return serializer.serialize_str("off"),
            Self::Sqrt => return serializer.serialize_str("sqrt"),
            Self::Every(n) => ("every", *n as u64),
            Self::Budget(bytes) => ("budget", bytes.0),
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(key, &number)?;
        map.end()
    }
}
