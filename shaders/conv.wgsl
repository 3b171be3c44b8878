// Convolution: y[m, o] = sum over taps t and channels c of x[pixel(m, t), c] * w[t, c, o]. Any shape, any groups.
//
// Shapes: x is [batch, height, width, channels]; w is [kernel, kernel, channels / groups, out_channels]; y is
// [batch, out_height, out_width, out_channels]. Out channels o of group g see the channels of group g only.
// Reads x and w, writes the pixels row0 to row0 + rows - 1 of y. Taps that lie on the padding add nothing.
// Variant vec4: out_channels / groups is a multiple of 4.
//
// One invocation computes one channel of one pixel, in vec4 four channels. For few input channels, such as the first
// layer's, this is as good as it gets; conv_register is for the others.

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
    out_channels: u32,
    kernel: u32,         // side of the window
    stride: u32,
    padding: u32,
    groups: u32,
    row0: u32,           // first row of the output in this dispatch
    rows: u32,           // rows of the output in this dispatch
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> w: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> y: array<f32>;
@if(vec4) @group(0) @binding(1) var<storage, read> w: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.out_channels / LANES;
    let r = i / columns;
    let o = i % columns;
    let m = params.row0 + r;
    if (r >= params.rows || m >= params.batch * params.out_height * params.out_width) {
        return;
    }
    let at = place(m, params.out_height, params.out_width);
    let depth = params.channels / params.groups;
    let first_channel = o * LANES / (params.out_channels / params.groups) * depth;
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
            if (ix < 0 || ix >= i32(params.width)) {
                continue;
            }
            let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
            let from_x = pixel * params.channels + first_channel;
            let from_w = (ky * params.kernel + kx) * depth * columns + o;
            for (var c = 0u; c < depth; c++) {
                sum += x[from_x + c] * w[from_w + c * columns];
            }
        }
    }
    y[m * columns + o] = sum;
}
