// Batch normalisation with given statistics: y[r, c] = (x[r, c] - mean[c]) / sqrt(variance[c] + eps) * gamma[c] + beta[c].
// Ioffe and Szegedy 2015, arXiv:1502.03167.
//
// Shapes: x and y are [rows, cols]; all else is [cols].
// Reads x and the vectors, writes y. Variant in_place: reads and writes y. Variant vec4: cols is a multiple of 4.
// One invocation handles one element, in vec4 four neighbouring ones of a row.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
    eps: f32,
}

@if(vec4) alias T = vec4f;
@if(!vec4) alias T = f32;
@if(vec4) const LANES: u32 = 4u;
@if(!vec4) const LANES: u32 = 1u;

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<T>;
@if(!in_place) @group(0) @binding(1) var<storage, read> mean: array<T>;
@if(!in_place) @group(0) @binding(2) var<storage, read> variance: array<T>;
@if(!in_place) @group(0) @binding(3) var<storage, read> gamma: array<T>;
@if(!in_place) @group(0) @binding(4) var<storage, read> beta: array<T>;
@if(!in_place) @group(0) @binding(5) var<storage, read_write> y: array<T>;
@if(in_place) @group(0) @binding(0) var<storage, read> mean: array<T>;
@if(in_place) @group(0) @binding(1) var<storage, read> variance: array<T>;
@if(in_place) @group(0) @binding(2) var<storage, read> gamma: array<T>;
@if(in_place) @group(0) @binding(3) var<storage, read> beta: array<T>;
@if(in_place) @group(0) @binding(4) var<storage, read_write> y: array<T>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.cols / LANES;
    if (i >= params.rows * columns) {
        return;
    }
    let c = i % columns;
    @if(!in_place) let v = x[i];
    @if(in_place) let v = y[i];
    let rstd = T(1.0) / sqrt(variance[c] + T(params.eps));
    y[i] = (v - mean[c]) * rstd * gamma[c] + beta[c];
}
