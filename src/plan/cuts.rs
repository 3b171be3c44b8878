//! Cutting long work into short launches, so that no single one holds the device past its driver's patience.

use crate::graph::{Graph, Node, Op, matrix};

/// Multiply-adds one launch may do. A tenth of a second on a software adapter, a fraction of a millisecond on a graphics
/// card; drivers reset the device after about two seconds. A constant, so that a plan has the same bytes on every machine.
pub const LAUNCH_MULTIPLY_ADDS: u64 = 1 << 27;

/// Rows of the output are handed out in multiples of this, the largest tile of a kernel, where that is short enough.
const ROW_TILE: usize = 64;
/// The least rows a launch gets: the register block of a kernel, and what its reads of four at a time can start from.
const ROW_BLOCK: usize = 8;

/// A range of output rows that one launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// First row.
    pub row0: usize,
    /// Number of rows.
    pub rows: usize,
}

/// The launches of a node: none for a reshape, one for most, several for a matrix product that is too long for one.
pub fn cuts(graph: &Graph, node: &Node) -> Vec<Cut> {
    let Some(output) = node.writes.first() else {
        return Vec::new();
    };
    let (rows, _) = matrix(&graph[*output].shape, false);
    match node.op {
        Op::Reshape => Vec::new(),
        Op::Matmul { .. } => {
            let per_row = graph.multiply_adds(node) / (rows as u64).max(1);
            let fitting = (LAUNCH_MULTIPLY_ADDS / per_row.max(1)) as usize;
            let unit = if fitting < ROW_TILE {
                ROW_BLOCK
            } else {
                ROW_TILE
            };
            let step = (fitting / unit * unit).max(ROW_BLOCK);
            (0..rows.max(1))
                .step_by(step)
                .map(|row0| Cut {
                    row0,
                    rows: step.min(rows - row0),
                })
                .collect()
        }
        _ => vec![Cut { row0: 0, rows }],
    }
}
