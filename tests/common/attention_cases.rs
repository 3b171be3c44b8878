//! Cases of the kernels for attention, plain and fused, and rotary positions.

use super::kernel_harness::Case;

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    Vec::new()
}
