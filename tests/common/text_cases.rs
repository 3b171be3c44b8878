//! Cases of the kernels for row norms, embeddings and what else a language model needs.

use super::kernel_harness::Case;

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    Vec::new()
}
