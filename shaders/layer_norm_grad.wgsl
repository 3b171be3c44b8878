// Backward of layer_norm to its input. With n[r, c] = (x[r, c] - mean[r]) * rstd[r] and g[r, c] = dy[r, c] * gamma[c]:
// dx[r, c] = rstd[r] * (g[r, c] - (mean over c of g) - n[r, c] * (mean over c of g * n)).
// Variants rms: n[r, c] = x[r, c] * rstd[r], and the mean of g is not taken off.
//
// Shapes: dy, x and dx are [rows, cols]; gamma is [cols]; mean and rstd are [rows] and come from layer_norm.
// Reads dy, x, gamma, mean (not with rms) and rstd, writes dx. With in_place: dx overwrites dy. Variants vec4 read four
// columns at a time and need cols to be a multiple of 4.
//
// Variants row: one invocation handles one row. Variants group: a workgroup handles one row, its invocations every 64th
// column. One pass takes both sums, the second writes dx; n is computed again, as storing it would cost a tensor.

import package::lib::columns::{Columns, COLUMNS, total};
import package::lib::row::{WG, STRIDE, row_of, first_of, row_sum};

struct Params {
    rows: u32,
    cols: u32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> dy: array<Columns>;
@if(!in_place) @group(0) @binding(1) var<storage, read> x: array<Columns>;
@if(!in_place) @group(0) @binding(2) var<storage, read> gamma: array<Columns>;
@if(!in_place && !rms) @group(0) @binding(3) var<storage, read> mean: array<f32>;
@if(!in_place && !rms) @group(0) @binding(4) var<storage, read> rstd: array<f32>;
@if(!in_place && !rms) @group(0) @binding(5) var<storage, read_write> dx: array<Columns>;
@if(!in_place && rms) @group(0) @binding(3) var<storage, read> rstd: array<f32>;
@if(!in_place && rms) @group(0) @binding(4) var<storage, read_write> dx: array<Columns>;

@if(in_place) @group(0) @binding(0) var<storage, read> x: array<Columns>;
@if(in_place) @group(0) @binding(1) var<storage, read> gamma: array<Columns>;
@if(in_place && !rms) @group(0) @binding(2) var<storage, read> mean: array<f32>;
@if(in_place && !rms) @group(0) @binding(3) var<storage, read> rstd: array<f32>;
@if(in_place && !rms) @group(0) @binding(4) var<storage, read_write> dx: array<Columns>;
@if(in_place && rms) @group(0) @binding(2) var<storage, read> rstd: array<f32>;
@if(in_place && rms) @group(0) @binding(3) var<storage, read_write> dx: array<Columns>;
@group(1) @binding(0) var<uniform> params: Params;

// dy * gamma of column i of the row that starts at `start`.
fn scaled_slope(start: u32, i: u32) -> Columns {
    @if(!in_place) return dy[start + i] * gamma[i];
    @if(in_place) return dx[start + i] * gamma[i];
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(workgroup_id) workgroup: vec3u,
        @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
    let r = row_of(gid, workgroup, groups);
    if (r >= params.rows) {
        return;
    }
    let n = params.cols / COLUMNS;
    let start = r * n;
    @if(!rms) let center = mean[r];
    @if(rms) let center = 0.0;
    let scale = rstd[r];

    var slopes = Columns(0.0);
    var products = Columns(0.0);
    for (var i = first_of(lane); i < n; i += STRIDE) {
        let g = scaled_slope(start, i);
        slopes += g;
        products += g * (x[start + i] - center);
    }
    let sums = row_sum(vec2f(total(slopes), total(products)), lane) / f32(params.cols);
    @if(!rms) let mean_slope = sums.x;
    @if(rms) let mean_slope = 0.0;
    let tilt = sums.y * scale * scale;

    for (var i = first_of(lane); i < n; i += STRIDE) {
        let g = scaled_slope(start, i);
        dx[start + i] = scale * ((g - mean_slope) - (x[start + i] - center) * tilt);
    }
}
