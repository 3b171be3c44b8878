// The mean of Adafactor's row averages: m[b] = mean over i of r[b, i].
//
// The estimate of a squared gradient is r[b, i] * c[b, j] / m[b]: Shazeer and Stern, 2018, arXiv:1804.04235.
//
// Shapes: r is [batch, rows], m [batch].
// Reads r, writes m.
// One workgroup handles a matrix of the batch: each invocation adds a strided share, a tree adds the shares in a fixed
// order.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    rows: u32,
}

@group(0) @binding(0) var<storage, read> r: array<f32>;
@group(0) @binding(1) var<storage, read_write> m: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> sums: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    let b = linear_index(workgroup, groups, 1u);
    if (b >= params.batch) {
        return;
    }
    var sum = 0.0;
    for (var i = lane; i < params.rows; i += WG) {
        sum += r[b * params.rows + i];
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    if (lane == 0u) {
        m[b] = sums[0] / f32(params.rows);
    }
}
