//! The `[memory]` section.

use super::section::{Problems, Section};
use crate::units::Bytes;
use serde::{Serialize, Serializer};

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
