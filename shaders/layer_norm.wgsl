// Normalization of each row: y[r, c] = (x[r, c] - mean[r]) * rstd[r] * gamma[c] + beta[c],
// rstd[r] = 1 / sqrt(mean over c of (x[r, c] - mean[r])^2 + eps). Ba, Kiros and Hinton, "Layer Normalization", 2016,
// arXiv:1607.06450.
// Variants rms: y[r, c] = x[r, c] * rstd[r] * gamma[c], rstd[r] = 1 / sqrt(mean over c of x[r, c]^2 + eps).
// Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, arXiv:1910.07467.
//
// Shapes: x and y are [rows, cols]; gamma and beta are [cols]; mean and rstd are [rows].
// Reads x, gamma and beta, writes y, mean and rstd; rms: reads x and gamma, writes y and rstd. What is written of a row
// beside y is kept for the backward pass. Variants vec4 read four columns at a time and need cols to be a multiple of 4.
//
// Variants row: one invocation handles one row. Variants group: a workgroup handles one row, its invocations every 64th
// column. All count from the row's first element and then from the mean, so that a row far from 0, with a mean of 1000
// and a deviation of 0.01, loses no digits: that takes a pass for the mean, one for the deviation and one for y.

import package::lib::columns::{Columns, COLUMNS, total};
import package::lib::row::{WG, STRIDE, row_of, first_of, row_sum};

struct Params {
    rows: u32,
    cols: u32,
    eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<Columns>;
@group(0) @binding(1) var<storage, read> gamma: array<Columns>;
@if(!rms) @group(0) @binding(2) var<storage, read> beta: array<Columns>;
@if(!rms) @group(0) @binding(3) var<storage, read_write> y: array<Columns>;
@if(!rms) @group(0) @binding(4) var<storage, read_write> mean: array<f32>;
@if(!rms) @group(0) @binding(5) var<storage, read_write> rstd: array<f32>;
@if(rms) @group(0) @binding(2) var<storage, read_write> y: array<Columns>;
@if(rms) @group(0) @binding(3) var<storage, read_write> rstd: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

// The mean over the row of what the invocations have summed.
fn row_mean(sum: Columns, lane: u32) -> f32 {
    return row_sum(vec2f(total(sum), 0.0), lane).x / f32(params.cols);
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
    let first = first_of(lane);

    @if(!rms && vec4) let origin = x[start].x;
    @if(!rms && !vec4) let origin = x[start];
    @if(!rms) var sum = Columns(0.0);
    @if(!rms) for (var i = first; i < n; i += STRIDE) {
        sum += x[start + i] - origin;
    }
    @if(!rms) let center = row_mean(sum, lane);  // as seen from the origin

    var squares = Columns(0.0);
    for (var i = first; i < n; i += STRIDE) {
        @if(!rms) let distance = (x[start + i] - origin) - center;
        @if(rms) let distance = x[start + i];
        squares += distance * distance;
    }
    let scale = 1.0 / sqrt(row_mean(squares, lane) + params.eps);

    for (var i = first; i < n; i += STRIDE) {
        @if(!rms) y[start + i] = ((x[start + i] - origin) - center) * scale * gamma[i] + beta[i];
        @if(rms) y[start + i] = x[start + i] * scale * gamma[i];
    }
    if (first == 0u) {
        @if(!rms) mean[r] = origin + center;
        rstd[r] = scale;
    }
}
