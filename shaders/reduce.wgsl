// Sums of a matrix along one side or both, times a factor.
//
// Variant rows: y[c] = f * sum over r of x[r, c]; the gradient of a bias. One invocation per column.
// Variant cols: y[r] = f * sum over c of x[r, c]. One invocation per row.
// Variant all:  y[0] = f * sum of everything, by one workgroup: each invocation sums a strided share, then a tree in
//               workgroup memory adds the shares in a fixed order.
// f = factor, times step.inv_samples if per_sample is 1 (the mean over the samples of an accumulation window).
//
// Shapes: x is [rows, cols]; y is [cols], [rows] or [1].
// Reads x (and y where it adds), writes y. accumulate: 0 overwrites y, 1 overwrites it in the first micro-batch of a
// window and adds in the others, 2 always adds. The order of all sums is fixed: the same input gives the same bits.

import package::lib::accumulate::adds_to_output;
import package::lib::index::linear_index;
import package::lib::step::Step;

@if(all) override WG: u32 = 256u;
@if(!all) override WG: u32 = 64u;

struct Params {
    rows: u32,
    cols: u32,
    factor: f32,
    accumulate: u32,
    per_sample: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@if(all) var<workgroup> shares: array<f32, WG>;

fn store(i: u32, sum: f32) {
    let f = params.factor * select(1.0, step.inv_samples, params.per_sample == 1u);
    let value = f * sum;
    y[i] = select(value, y[i] + value, adds_to_output(params.accumulate, step.micro));
}

// Neighbouring invocations read neighbouring columns, so each row is read in whole cache lines.
@if(rows)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let c = linear_index(gid, groups, WG);
    if (c >= params.cols) {
        return;
    }
    var sum = 0.0;
    for (var r = 0u; r < params.rows; r++) {
        sum += x[r * params.cols + c];
    }
    store(c, sum);
}

@if(cols)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let r = linear_index(gid, groups, WG);
    if (r >= params.rows) {
        return;
    }
    var sum = 0.0;
    for (var c = 0u; c < params.cols; c++) {
        sum += x[r * params.cols + c];
    }
    store(r, sum);
}

@if(all)
@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var e = lane; e < params.rows * params.cols; e += WG) {
        sum += x[e];
    }
    shares[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            shares[lane] += shares[lane + half];
        }
    }
    if (lane == 0u) {
        store(0u, shares[0]);
    }
}
