//! What a device allows, checked against a plan before anything is allocated.

use super::Plan;
use crate::units::Bytes;

/// The limits of a device that decide whether a plan can run on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Most bytes one binding of a kernel may have.
    pub max_binding_bytes: u64,
    /// Most bytes one buffer may have.
    pub max_buffer_bytes: u64,
}

impl DeviceLimits {
    /// What every WebGPU device offers.
    pub const BASELINE: Self = Self {
        max_binding_bytes: 128 << 20,
        max_buffer_bytes: 256 << 20,
    };
}

/// A value of the plan is too large for the device.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "\"{name}\" takes {bytes} bytes ({}), this adapter binds at most {limit} ({}) at once; make the layer narrower or the batch smaller, or use --engine cpu",
    Bytes(*bytes), Bytes(*limit)
)]
pub struct LimitError {
    /// Name of the value.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Most bytes the device allows.
    pub limit: u64,
}

impl Plan {
    /// Checks every value against the limits of a device.
    ///
    /// # Errors
    /// The largest value that does not fit.
    pub fn check_limits(&self, limits: DeviceLimits) -> Result<(), LimitError> {
        let limit = limits.max_binding_bytes.min(limits.max_buffer_bytes);
        let largest = self.graph.values.iter().max_by_key(|v| v.bytes());
        match largest {
            Some(value) if value.bytes() > limit => Err(LimitError {
                name: value.name.clone(),
                bytes: value.bytes(),
                limit,
            }),
            _ => Ok(()),
        }
    }
}
