// Adafactor's factored second moment: moving averages of the squared gradient over every row and every column.
//
//   d = clip * g, beta = 1 - t^(-0.8)
//   r[b, i] = beta * r[b, i] + (1 - beta) * (mean over j of d[b, i, j]^2 + 1e-30)
//   c[b, j] = beta * c[b, j] + (1 - beta) * (mean over i of d[b, i, j]^2 + 1e-30)
//
// Shazeer and Stern, 2018, arXiv:1804.04235, algorithm 4, with means for their sums: the estimate r * c / mean(r) is
// the same. t is norm[5]; clip is norm[1] from norm_finish. Where norm[2] is not 0 the update is skipped: nothing is
// written.
//
// Shapes: g is [batch, rows, cols], r [batch, rows], c [batch, cols]; norm holds the 8 numbers of norm_finish.
// Reads norm and g, reads and writes r and c: rows + cols numbers of state for a matrix.
// One invocation handles one line: the first batch * rows have a row each, the batch * cols after them a column.

import package::lib::adafactor::{TINY, new_share};
import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    rows: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<f32>;
@group(0) @binding(2) var<storage, read_write> r: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

// The mean of `count` squares that stand `stride` apart.
fn mean_square(first: u32, stride: u32, count: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < count; i += 1u) {
        let d = norm[1] * g[first + i * stride];
        sum += d * d;
    }
    return sum / f32(count) + TINY;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let line = linear_index(gid, groups, WG);
    let row_lines = params.batch * params.rows;
    // A broken gradient: norm_finish asks to leave everything as it is.
    if (line >= row_lines + params.batch * params.cols || norm[2] != 0.0) {
        return;
    }
    let share = new_share(norm[5]);
    if (line < row_lines) {
        let square = mean_square(line * params.cols, 1u, params.cols);
        r[line] = (1.0 - share) * r[line] + share * square;
    } else {
        let column = line - row_lines;
        let first = (column / params.cols) * params.rows * params.cols + column % params.cols;
        c[column] = (1.0 - share) * c[column] + share * mean_square(first, params.cols, params.rows);
    }
}
