// Adds a row to every row: y[r, c] = x[r, c] + b[c].
//
// Shapes: x and y are [rows, cols], b is [cols].
// Reads x and b, writes y. Variant in_place: reads b, reads and writes y.
// One invocation handles four neighbouring elements of the flat array; they may lie in two or more rows.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> b: array<f32>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> b: array<f32>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// The column after c, back at 0 past the end of a row. A division per element would cost more than the addition.
fn next_col(c: u32) -> u32 {
    return select(c + 1u, 0u, c + 1u == params.cols);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.rows * params.cols + 3u) / 4u) {
        return;
    }
    let c0 = (4u * i) % params.cols;
    let c1 = next_col(c0);
    let c2 = next_col(c1);
    let c3 = next_col(c2);
    @if(!in_place) let v = x[i];
    @if(in_place) let v = y[i];
    y[i] = v + vec4f(b[c0], b[c1], b[c2], b[c3]);
}
