// Gradient of batch normalisation by its input, through mean and variance too:
// dx = gamma / sqrt(variance + eps) * (dy - dbeta / n - xhat * dgamma / n), with xhat = (x - mean) / sqrt(variance + eps).
// Ioffe and Szegedy 2015, arXiv:1502.03167, section 3.
//
// Shapes: dy, x and dx are [rows, cols]; all else is [cols]. dgamma and dbeta are the sums over this batch. n is the
// number of rows that are not padding, step.rows * rows_per_sample; the others get 0.
// Reads dy, x and the vectors, writes dx. Variant in_place: dx overwrites dy. Variant vec4: cols is a multiple of 4.
// One invocation handles one element, in vec4 four neighbouring ones of a row.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    rows_per_sample: u32,
    cols: u32,
    eps: f32,
}

@if(vec4) alias T = vec4f;
@if(!vec4) alias T = f32;
@if(vec4) const LANES: u32 = 4u;
@if(!vec4) const LANES: u32 = 1u;

@if(!in_place) @group(0) @binding(0) var<storage, read> dy: array<T>;
@if(!in_place) @group(0) @binding(1) var<storage, read> x: array<T>;
@if(!in_place) @group(0) @binding(2) var<storage, read> mean: array<T>;
@if(!in_place) @group(0) @binding(3) var<storage, read> variance: array<T>;
@if(!in_place) @group(0) @binding(4) var<storage, read> gamma: array<T>;
@if(!in_place) @group(0) @binding(5) var<storage, read> dgamma: array<T>;
@if(!in_place) @group(0) @binding(6) var<storage, read> dbeta: array<T>;
@if(!in_place) @group(0) @binding(7) var<storage, read_write> dx: array<T>;
@if(in_place) @group(0) @binding(0) var<storage, read> x: array<T>;
@if(in_place) @group(0) @binding(1) var<storage, read> mean: array<T>;
@if(in_place) @group(0) @binding(2) var<storage, read> variance: array<T>;
@if(in_place) @group(0) @binding(3) var<storage, read> gamma: array<T>;
@if(in_place) @group(0) @binding(4) var<storage, read> dgamma: array<T>;
@if(in_place) @group(0) @binding(5) var<storage, read> dbeta: array<T>;
@if(in_place) @group(0) @binding(6) var<storage, read_write> dx: array<T>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.cols / LANES;
    if (i >= params.rows * columns) {
        return;
    }
    let valid = min(params.rows, step.rows * params.rows_per_sample);
    if (i / columns >= valid) {
        dx[i] = T(0.0);
        return;
    }
    let c = i % columns;
    @if(!in_place) let d = dy[i];
    @if(in_place) let d = dx[i];
    let rstd = T(1.0) / sqrt(variance[c] + T(params.eps));
    let xhat = (x[i] - mean[c]) * rstd;
    dx[i] = gamma[c] * rstd * (d - (dbeta[c] + xhat * dgamma[c]) / f32(valid));
}
