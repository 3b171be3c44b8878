// Gated linear unit with a SiLU gate: y[r, c] = silu(gate[r, c]) * up[r, c], silu(v) = v / (1 + exp(-v)).
// Shazeer, "GLU Variants Improve Transformer", 2020, arXiv:2002.05202.
//
// Shapes: x is [rows, 2 * cols], the gate in the first half of each row and up in the second; y is [rows, cols].
// Reads x, writes y.
// One invocation handles one element of y; variant vec4, for cols a multiple of 4, four neighbouring ones.

import package::lib::columns::{Columns, COLUMNS};
import package::lib::index::linear_index;
import package::lib::swish::logistic;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> x: array<Columns>;
@group(0) @binding(1) var<storage, read_write> y: array<Columns>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let n = params.cols / COLUMNS;
    let i = linear_index(gid, groups, WG);
    if (i >= params.rows * n) {
        return;
    }
    // Every row before this one has put n more elements in front of its gate.
    let at = i + (i / n) * n;
    let gate = x[at];
    y[i] = gate * logistic(gate).s * x[at + n];
}
