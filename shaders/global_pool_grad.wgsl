// Gradient of the mean over pixels: dx[n, p, c] = dy[n, c] / positions.
//
// Shapes: dy is [batch, channels]; dx is [batch, positions, channels].
// Reads dy, writes dx. One invocation writes one element.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    positions: u32,  // pixels of a picture
    channels: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<f32>;
@group(0) @binding(1) var<storage, read_write> dx: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= params.batch * params.positions * params.channels) {
        return;
    }
    let picture = i / (params.positions * params.channels);
    dx[i] = dy[picture * params.channels + i % params.channels] / f32(params.positions);
}
