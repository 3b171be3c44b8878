//! Cases of the kernels for convolutions.

use super::kernel_harness::Case;

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    Vec::new()
}
