// Depthwise convolution: y[m, c] = sum over taps t of x[pixel(m, t), c] * w[t, c]. Each channel for itself.
// Howard et al. 2017, MobileNets, arXiv:1704.04861.
//
// Shapes: x is [batch, height, width, channels]; w is [kernel, kernel, channels]; y is
// [batch, out_height, out_width, channels].
// Reads x and w, writes y. Taps that lie on the padding add nothing.
// Variant vec4: channels is a multiple of 4.
//
// One invocation computes one channel of one pixel, in vec4 four channels. There is nothing to share between channels
// and little between pixels, so this is as fast as memory is.

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

@if(!vec4) @group(0) @binding(0) var<storage, read> x: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> w: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> y: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> w: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let depth = params.channels / LANES;
    if (i >= params.batch * params.out_height * params.out_width * depth) {
        return;
    }
    let c = i % depth;
    let at = place(i / depth, params.out_height, params.out_width);
    let y0 = i32(at.y * params.stride) - i32(params.padding);
    let x0 = i32(at.x * params.stride) - i32(params.padding);
    @if(!vec4) var sum = 0.0;
    @if(vec4) var sum = vec4f(0.0);
    for (var ky = 0u; ky < params.kernel; ky++) {
        let iy = y0 + i32(ky);
        if (iy < 0 || iy >= i32(params.height)) {
            continue;
        }
        for (var kx = 0u; kx < params.kernel; kx++) {
            let ix = x0 + i32(kx);
            if (ix >= 0 && ix < i32(params.width)) {
                let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
                sum += x[pixel * depth + c] * w[(ky * params.kernel + kx) * depth + c];
            }
        }
    }
    y[i] = sum;
}
