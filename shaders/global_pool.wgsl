// Mean over the pixels of each picture: y[n, c] = mean over p of x[n, p, c].
//
// Shapes: x is [batch, positions, channels]; y is [batch, channels].
// Reads x, writes y. One invocation computes one channel of one picture.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    positions: u32,  // pixels of a picture
    channels: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= params.batch * params.channels) {
        return;
    }
    let first = i / params.channels * params.positions * params.channels + i % params.channels;
    var sum = 0.0;
    for (var p = 0u; p < params.positions; p++) {
        sum += x[first + p * params.channels];
    }
    y[i] = sum / f32(params.positions);
}
