// Copies one row of a matrix: y[c] = x[step.rows - 1, c], the last row that holds a real token. What a language model
// says there is its guess at the next token.
//
// Shapes: x is [rows, cols], y is [cols].
// Reads x, writes y. step.rows is bounded to 1 .. rows, so that no step reads past the matrix.
// One invocation handles one element.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let c = linear_index(gid, groups, WG);
    if (c >= params.cols) {
        return;
    }
    let r = clamp(step.rows, 1u, params.rows) - 1u;
    y[c] = x[r * params.cols + c];
}
