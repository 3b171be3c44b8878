//! Builder methods for losses and for what is counted in an evaluation.

use super::super::{Accumulate, Axis, Graph, GraphError, Op, TextOp, ValueId, matrix};
use crate::dtype::DType;

/// Rows that the linear layer with the loss does at a time at least. A multiple of 64 rows of 4 bytes is a multiple of
/// 256 bytes, from which every device can bind a buffer.
const CHUNK_ROWS: usize = 64;
/// Parts into which the rows are cut where that gives more than [`CHUNK_ROWS`] for each.
const CHUNKS: usize = 8;

/// Rows of the linear layer with the loss that are done at a time, of `rows`.
pub fn chunk_rows(rows: usize) -> usize {
    rows.div_ceil(CHUNKS)
        .next_multiple_of(CHUNK_ROWS)
        .min(rows.max(1))
}

impl Graph {
    /// Softmax cross-entropy of `logits` [rows, classes] against `labels` [rows], as its mean over the samples of the
    /// window in the persistent value `loss` [1].
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if there is not one label per row.
    pub fn cross_entropy(
        &mut self,
        name: &str,
        logits: ValueId,
        labels: ValueId,
        loss: ValueId,
    ) -> Result<(), GraphError> {
        let (rows, _) = matrix(&self[logits].shape, false);
        if self[labels].elements() != rows {
            let rule = "there is one label per row of logits";
            return Err(self.shapes(
                "cross_entropy",
                name,
                &self[logits].shape,
                &self[labels].shape,
                rule,
            ));
        }
        let row_loss = self.push_node(
            name,
            Op::CrossEntropy,
            &[logits, labels],
            &[rows],
            DType::F32,
        )?;
        self.also_writes(&format!("{name}.log_sum_exp"), &[rows])?;
        let accumulate = Accumulate::OverWindow;
        let op = Op::Reduce {
            axis: Axis::All,
            factor: 1.0,
            per_sample: true,
            accumulate,
        };
        self.push(&format!("{name}.mean"), op, &[row_loss], &[loss]);
        Ok(())
    }

    /// Number of rows of `logits` whose label is among the `k` largest entries, in the persistent value `hits` [1];
    /// added up over the batches of a window.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if there is not one label per row.
    pub fn correct(
        &mut self,
        name: &str,
        logits: ValueId,
        labels: ValueId,
        k: usize,
        hits: ValueId,
    ) -> Result<(), GraphError> {
        let (rows, _) = matrix(&self[logits].shape, false);
        if self[labels].elements() != rows {
            let rule = "there is one label per row of logits";
            let (logits, labels) = (&self[logits].shape, &self[labels].shape);
            return Err(self.shapes("correct", name, logits, labels, rule));
        }
        let op = Op::Correct { k };
        let row_hits = self.push_node(name, op, &[logits, labels], &[rows], DType::F32)?;
        let accumulate = Accumulate::OverWindow;
        let op = Op::Reduce {
            axis: Axis::All,
            factor: 1.0,
            per_sample: false,
            accumulate,
        };
        self.push(&format!("{name}.sum"), op, &[row_hits], &[hits]);
        Ok(())
    }

    /// A linear layer without bias and the cross-entropy of its logits, as its mean over the labels of the window in
    /// `loss` [1]. `weight` is [width, classes], or [classes, width] if `transposed`. The logits are made a few rows at a
    /// time and never kept, so they are made a second time for the gradient (as Cut Cross-Entropy does: Wijmans et al.
    /// 2024, arXiv:2411.09009).
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the width of `x` and of the weight differ, or there is not one label per row.
    pub fn linear_cross_entropy(
        &mut self,
        name: &str,
        [x, weight, labels]: [ValueId; 3],
        transposed: bool,
        loss: ValueId,
    ) -> Result<(), GraphError> {
        let (rows, width) = matrix(&self[x].shape, false);
        let (inner, classes) = matrix(&self[weight].shape, transposed);
        let op = "linear_cross_entropy";
        if inner != width {
            let rule = "the weight is as wide as the rows";
            return Err(self.shapes(op, name, &self[x].shape, &self[weight].shape, rule));
        }
        if self[labels].elements() != rows {
            let rule = "there is one label per row";
            return Err(self.shapes(op, name, &self[x].shape, &self[labels].shape, rule));
        }
        let op = Op::Text(TextOp::LinearCrossEntropy { transposed });
        let row_loss = self.push_node(name, op, &[x, weight, labels], &[rows], DType::F32)?;
        self.also_writes(&format!("{name}.log_sum_exp"), &[rows])?;
        self.also_writes(&format!("{name}.chunk"), &[chunk_rows(rows), classes])?;
        let op = Op::Reduce {
            axis: Axis::All,
            factor: 1.0,
            per_sample: true,
            accumulate: Accumulate::OverWindow,
        };
        self.push(&format!("{name}.mean"), op, &[row_loss], &[loss]);
        Ok(())
    }
}
