// Pooling: y[m, c] = the mean of x[p, c] over the window of m; padding counts as zeros, as in PyTorch.
//
// Shapes: x is [batch, height, width, channels]; y is [batch, out_height, out_width, channels].
// Reads x, writes y. One invocation computes one channel of one pixel; neighbours read neighbouring channels.

import package::lib::index::linear_index;
import package::lib::picture::place;

override WG: u32 = 64u;

struct Params {
    batch: u32,
    height: u32,         // of x
    width: u32,
    channels: u32,
    out_height: u32,     // of y
    out_width: u32,
    kernel: u32,         // side of the window
    stride: u32,
    padding: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= params.batch * params.out_height * params.out_width * params.channels) {
        return;
    }
    let c = i % params.channels;
    let at = place(i / params.channels, params.out_height, params.out_width);
    let y0 = i32(at.y * params.stride) - i32(params.padding);
    let x0 = i32(at.x * params.stride) - i32(params.padding);
    var sum = 0.0;
    for (var ky = 0u; ky < params.kernel; ky++) {
        let iy = y0 + i32(ky);
        if (iy < 0 || iy >= i32(params.height)) {
            continue;
        }
        for (var kx = 0u; kx < params.kernel; kx++) {
            let ix = x0 + i32(kx);
            if (ix >= 0 && ix < i32(params.width)) {
                let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
                sum += x[pixel * params.channels + c];
            }
        }
    }
    y[i] = sum / f32(params.kernel * params.kernel);
}
