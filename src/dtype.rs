//! Number formats of values on the device.

use serde::{Deserialize, Serialize};

/// How one element of a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE single precision.
    F32,
    /// IEEE half precision, two to a 32-bit word.
    F16,
    /// The upper half of an F32, two to a 32-bit word.
    Bf16,
    /// Unsigned 32-bit integers: labels.
    U32,
}

impl DType {
    /// Bytes of `elements` elements. The packed formats fill whole words, so an odd count has one half to spare.
    pub fn bytes(self, elements: usize) -> u64 {
        let elements = elements as u64;
        match self {
            Self::F32 | Self::U32 => elements.saturating_mul(4),
            Self::F16 | Self::Bf16 => elements.div_ceil(2).saturating_mul(4),
        }
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::U32 => "u32",
        }
    }
}
