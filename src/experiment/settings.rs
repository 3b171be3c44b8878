//! The short sections: `[techniques]` and `[memory]`.

use super::section::{Choices, Problems, Section};
use crate::units::Bytes;
use serde::{Serialize, Serializer};

/// The `[techniques]` section: what is done to need less memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Techniques {
    /// Number format of weights, activations and gradients.
    pub precision: Precision,
    /// Number of micro-batches an update is split into; 1 is no accumulation.
    pub accumulate: usize,
}

/// Number format that values are stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
}

/// The `[memory]` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Device bytes that training may reserve; without it only the device sets a limit. Written as `"64 MiB"` or a
    /// whole number of bytes.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "whole_bytes"
    )]
    pub budget: Option<Bytes>,
}

const PRECISIONS: Choices<Precision> = Choices {
    allowed: &[("f32", Precision::F32)],
    later: &["f16", "bf16"],
};

impl Default for Techniques {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            accumulate: 1,
        }
    }
}

impl Techniques {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let techniques = Self {
            precision: section.choice_or("precision", &PRECISIONS, Precision::F32),
            accumulate: section.or_default("accumulate", 1),
        };
        section.finish();
        techniques
    }

    pub(super) fn check(&self, batch: usize, problems: &Problems) {
        // A batch of 0 is a problem of its own and says nothing about this field.
        if self.accumulate < 1 || self.accumulate > batch.max(1) {
            let allowed = format!("must be 1 to data.batch ({batch}) micro-batches");
            problems.value("techniques.accumulate", self.accumulate, &allowed);
        }
    }
}

impl Memory {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let memory = Self {
            budget: section.optional("budget", Bytes(1)),
        };
        section.finish();
        memory
    }

    pub(super) fn check(&self, problems: &Problems) {
        if let Some(budget) = self.budget {
            // TOML has signed 64-bit numbers only, and a report must be readable again.
            if budget.0 < 1 || i64::try_from(budget.0).is_err() {
                let allowed = "must be 1 to 9223372036854775807 bytes";
                problems.value("memory.budget", budget.0, allowed);
            }
        }
    }
}

/// Writes the exact count: the form with a unit is rounded.
#[expect(
    clippy::ref_option,
    reason = "serde passes the field by reference, whatever its type"
)]
fn whole_bytes<S: Serializer>(bytes: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.map(|bytes| bytes.0).serialize(serializer)
}
