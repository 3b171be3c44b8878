// Gradient of channel_scale by its numbers: ds[n, c] = sum over p of dy[n, p, c] * x[n, p, c].
//
// Shapes: dy and x are [batch, positions, channels]; ds is [batch, channels].
// Reads dy and x, writes ds. One invocation computes one channel of one picture.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    positions: u32,  // pixels of a picture
    channels: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> ds: array<f32>;
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
        let at = first + p * params.channels;
        sum += dy[at] * x[at];
    }
    ds[i] = sum;
}
