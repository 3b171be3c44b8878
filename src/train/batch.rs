//! The batches of a training: filling them, putting them on the device, and refusing those that cannot be trained on.

use super::{TrainError, Trainer};
use crate::data::{Batch, Dataset};
use crate::engine::EngineError;
use crate::graph::{ImageOp, Op, Program};

impl Trainer {
    pub(super) fn upload_batch(
        &mut self,
        training: bool,
        samples: &[u32],
    ) -> Result<(), EngineError> {
        let dataset: &Dataset = if training {
            &self.split.train
        } else {
            &self.split.test
        };
        dataset.fill(samples, self.step.micro_rows, &mut self.batch);
        let Batch { features, labels } = &self.batch;
        self.engine.upload(self.step.features, features)?;
        self.engine.upload(self.step.labels, labels)?;
        if let Some(text) = self.step.text.filter(|_| training) {
            let (order, starts) = sort_by_token(features, text.vocabulary);
            self.engine.upload(text.order, &order)?;
            self.engine.upload(text.starts, &starts)?;
        }
        Ok(())
    }

    /// Refuses a training in which batch normalisation would meet a single value per channel at the end of an epoch or of
    /// a window. Pictures of more than one pixel have more than one value.
    pub(super) fn check_micro_batches(&self) -> Result<(), TrainError> {
        let graph = &self.step.plan.graph;
        let single = graph.program(Program::Accumulate).find(|(_, node)| {
            let op = &node.op;
            matches!(op, Op::Image(ImageOp::BatchMomentsFinish { rows_per_sample, .. }) if *rows_per_sample == 1)
        });
        let Some((_, node)) = single else {
            return Ok(());
        };
        let (samples, batch) = (self.split.train.len(), self.experiment.data.batch);
        let ends_in_one = |n: usize| n > 0 && n % self.step.micro_rows == 1 % self.step.micro_rows;
        let sizes = self.windows.sizes();
        if sizes.into_iter().any(ends_in_one) {
            return Err(TrainError::OneSample {
                batch,
                samples,
                layer: node.name.trim_end_matches(".mean").into(),
            });
        }
        Ok(())
    }
}

/// The rows of a batch sorted by their token, then by row, and where those of each token begin: a counting sort.
fn sort_by_token(tokens: &[u32], vocabulary: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; vocabulary + 1];
    for token in tokens {
        if let Some(count) = starts.get_mut(*token as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut order = vec![0u32; tokens.len()];
    for (row, token) in tokens.iter().enumerate() {
        if let Some(place) = next.get_mut(*token as usize) {
            if let Some(slot) = order.get_mut(*place as usize) {
                *slot = row as u32;
            }
            *place += 1;
        }
    }
    (order, starts)
}

#[cfg(test)]
mod tests {
    use super::sort_by_token;

    #[test]
    fn rows_are_sorted_by_token_and_keep_their_order() {
        let (order, starts) = sort_by_token(&[2, 0, 2, 3, 0, 2], 5);
        assert_eq!(order, [1, 4, 0, 2, 5, 3]);
        assert_eq!(starts, [0, 2, 2, 5, 6, 6]);
    }
}
