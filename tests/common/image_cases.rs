//! Cases of the kernels for batch normalisation, pooling, gates and the activations of image networks.

use super::kernel_harness::Case;

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    Vec::new()
}
