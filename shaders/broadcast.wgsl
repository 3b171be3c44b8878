// Spreads a vector or a number over a matrix; the backward of reduce.
//
// Variant rows: y[r, c] = factor * x[c], x repeated in every row.
// Variant cols: y[r, c] = factor * x[r], x repeated in every column.
// Variant all:  y[r, c] = factor * x[0].
//
// Shapes: y is [rows, cols]; x is [cols], [rows] or [1].
// Reads x, writes y. One invocation handles four neighbouring elements of the flat array y.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
    factor: f32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(rows)
fn source(element: u32) -> f32 {
    return x[element % params.cols];
}

// The last invocation may stand past the last row: it writes padding there, but must not read past x.
@if(cols)
fn source(element: u32) -> f32 {
    return x[min(element / params.cols, params.rows - 1u)];
}

@if(all)
fn source(element: u32) -> f32 {
    return x[0];
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.rows * params.cols + 3u) / 4u) {
        return;
    }
    let e = 4u * i;
    y[i] = params.factor * vec4f(source(e), source(e + 1u), source(e + 2u), source(e + 3u));
}
