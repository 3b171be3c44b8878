//! Gradient accumulation: the batch is cut into micro-batches whose gradients are added up before one update.

use super::Technique;

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "gradient accumulation",
    explanation: "Activations grow with the number of samples that are in flight at once. Cutting a batch into K \
        micro-batches and adding their gradients gives the same update with the activations of one micro-batch. Each \
        sample's gradient is divided by the size of the whole window, so unequal micro-batches weigh right.",
    promise: "Activations, workspace and data shrink to those of one micro-batch; weights, gradients and optimizer \
        state stay. The update is the one of the whole batch up to rounding.",
};

/// Rows of one micro-batch when `batch` samples are cut into `accumulate` of them; the last may hold fewer samples.
pub fn micro_rows(batch: usize, accumulate: usize) -> usize {
    batch.max(1).div_ceil(accumulate.max(1))
}
