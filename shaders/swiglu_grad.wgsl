// Backward of swiglu: with s = 1 / (1 + exp(-gate)),
// d_gate[r, c] = dy[r, c] * up[r, c] * s * (1 + gate * (1 - s)) and d_up[r, c] = dy[r, c] * gate[r, c] * s.
//
// Shapes: dy is [rows, cols]; x and dx are [rows, 2 * cols], gates in the first half of each row and up in the second.
// Reads dy and x, writes dx.
// One invocation handles one element of dy; variant vec4, for cols a multiple of 4, four neighbouring ones.

import package::lib::columns::{Columns, COLUMNS};
import package::lib::index::linear_index;
import package::lib::swish::logistic;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<Columns>;
@group(0) @binding(1) var<storage, read> x: array<Columns>;
@group(0) @binding(2) var<storage, read_write> dx: array<Columns>;
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
    let part = logistic(gate);
    let d = dy[i];
    dx[at] = d * x[at + n] * (part.s + gate * (part.s * part.rest));
    dx[at + n] = d * (gate * part.s);
}
