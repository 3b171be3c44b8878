//! What a device allows, checked against a plan before anything is allocated.

use super::Plan;
use crate::graph::{Op, matrix};
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

/// A plan cannot run on a device.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LimitError {
    /// A value is larger than the device can bind.
    #[error(
        "\"{name}\" takes {bytes} bytes ({}), this adapter binds at most {limit} ({}) at once; make the layer narrower or the batch smaller, or use --engine cpu",
        Bytes(*bytes), Bytes(*limit)
    )]
    Value {
        /// Name of the value.
        name: String,
        /// Its bytes.
        bytes: u64,
        /// Most bytes the device allows.
        limit: u64,
    },
    /// A matrix product has more columns than one dispatch can cover.
    #[error(
        "the matrix product \"{name}\" has {columns} columns, one dispatch covers at most {MAX_COLUMNS}; make the layer narrower"
    )]
    Columns {
        /// Name of the node.
        name: String,
        /// Columns of its output.
        columns: usize,
    },
}

/// Columns of a matrix product that the narrowest kernel covers in one dispatch: eight for each of the 65535 workgroups
/// that WebGPU allows in one dimension. Rows have no such limit, a product is cut along them.
const MAX_COLUMNS: usize = 65535 * 8;

impl Plan {
    /// Checks every value and node against the limits of a device.
    ///
    /// # Errors
    /// The largest value that does not fit, or the first node.
    pub fn check_limits(&self, limits: DeviceLimits) -> Result<(), LimitError> {
        let limit = limits.max_binding_bytes.min(limits.max_buffer_bytes);
        let largest = self.graph.values.iter().max_by_key(|v| v.bytes());
        if let Some(value) = largest.filter(|value| value.bytes() > limit) {
            return Err(LimitError::Value {
                name: value.name.clone(),
                bytes: value.bytes(),
                limit,
            });
        }
        for node in &self.graph.nodes {
            let output = node
                .writes
                .first()
                .map_or(&[][..], |v| &self.graph[*v].shape);
            let (_, columns) = matrix(output, false);
            if matches!(node.op, Op::Matmul { .. }) && columns > MAX_COLUMNS {
                let name = node.name.clone();
                return Err(LimitError::Columns { name, columns });
            }
        }
        Ok(())
    }
}
