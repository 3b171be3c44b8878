//! Cutting long work into short launches, so that no single one holds the device past its driver's patience.

use crate::graph::{Graph, ImageOp, Node, Op, TextOp, chunk_rows, matrix};

/// Multiply-adds one launch may do. A tenth of a second on a software adapter, a fraction of a millisecond on a graphics
/// card; drivers reset the device after about two seconds. A constant, so that a plan has the same bytes on every machine.
pub const LAUNCH_MULTIPLY_ADDS: u64 = 1 << 27;

/// Rows of the output are handed out in multiples of this, the largest tile of a kernel, where that is short enough.
const ROW_TILE: usize = 64;
/// The least rows a launch gets: the register block of a kernel, and what its reads of four at a time can start from.
const ROW_BLOCK: usize = 8;

/// A range of output rows that one launch computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Which kernel of a node that takes several; 0 for the others.
    pub part: usize,
    /// First row of the piece of the input that a node works on, for one that goes through it piece by piece.
    pub chunk0: usize,
    /// Rows of that piece.
    pub chunk: usize,
    /// First row of the output.
    pub row0: usize,
    /// Number of rows of the output.
    pub rows: usize,
}

/// The launches of a node: none for a reshape, one for most, several for a product that is too long for one and for a
/// node that takes several kernels.
pub fn cuts(graph: &Graph, node: &Node) -> Vec<Cut> {
    let Some(output) = node.writes.first() else {
        return Vec::new();
    };
    let (rows, _) = matrix(&graph[*output].shape, false);
    let per_row = graph.multiply_adds(node) / (rows as u64).max(1);
    match node.op {
        Op::Reshape => Vec::new(),
        Op::Matmul { .. } | Op::Image(ImageOp::Conv { .. } | ImageOp::ConvInputGrad { .. }) => {
            by_rows(Cut::default(), rows, per_row, ROW_BLOCK)
        }
        // Its rows are the parts of the batch; each is short.
        Op::Image(ImageOp::ConvWeightGrad { .. }) => {
            let parts = graph[*output].shape.first().copied().unwrap_or(1);
            let per_part = graph.multiply_adds(node) / (parts as u64).max(1);
            by_rows(Cut::default(), parts, per_part, 1)
        }
        Op::Text(TextOp::LinearCrossEntropy { transposed }) => {
            chunks(graph, node, transposed, false)
        }
        Op::Text(TextOp::LinearCrossEntropyGrad { transposed, .. }) => {
            chunks(graph, node, transposed, true)
        }
        _ => vec![Cut {
            rows,
            ..Cut::default()
        }],
    }
}

/// Cuts `rows` rows that take `per_row` multiply-adds each, in multiples of `block`.
fn by_rows(like: Cut, rows: usize, per_row: u64, block: usize) -> Vec<Cut> {
    let fitting = (LAUNCH_MULTIPLY_ADDS / per_row.max(1)) as usize;
    let unit = if fitting < ROW_TILE { block } else { ROW_TILE };
    let step = (fitting / unit * unit).max(block);
    (0..rows.max(1))
        .step_by(step)
        .map(|row0| Cut {
            row0,
            rows: step.min(rows - row0),
            ..like
        })
        .collect()
}

/// The launches of a linear layer with its loss. For each piece of the rows: the logits (part 0), then their loss or
/// gradient (part 1), and for the gradient the products by the input (part 2) and by the weights (part 3).
fn chunks(graph: &Graph, node: &Node, transposed: bool, gradient: bool) -> Vec<Cut> {
    let (rows, width) = matrix(&graph[node.reads[0]].shape, false);
    let weight = &graph[node.reads[1]].shape;
    let (_, classes) = matrix(weight, transposed);
    let (weight_rows, weight_cols) = matrix(weight, false);
    let step = chunk_rows(rows);
    let mut all = Vec::new();
    for chunk0 in (0..rows).step_by(step.max(1)) {
        let chunk = step.min(rows - chunk0);
        let part = |part| Cut {
            part,
            chunk0,
            chunk,
            row0: 0,
            rows: chunk,
        };
        let per_row = width as u64 * classes as u64;
        all.extend(by_rows(part(0), chunk, per_row, ROW_BLOCK));
        all.push(part(1));
        if gradient {
            all.extend(by_rows(part(2), chunk, per_row, ROW_BLOCK));
            let per_row = chunk as u64 * weight_cols as u64;
            all.extend(by_rows(part(3), weight_rows, per_row, ROW_BLOCK));
        }
    }
    all
}
