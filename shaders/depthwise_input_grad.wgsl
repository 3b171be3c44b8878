// Gradient of a depthwise convolution by its input: dx[p, c] = sum over taps t of dy[m, c] * w[t, c], over the pixels m
// of y whose tap t lies on p.
//
// Shapes: dy is [batch, out_height, out_width, channels]; w is [kernel, kernel, channels]; dx is
// [batch, height, width, channels].
// Reads dy and w, writes dx.
// Variant vec4: channels is a multiple of 4.
//
// One invocation computes one channel of one pixel, in vec4 four channels.

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

@if(!vec4) @group(0) @binding(0) var<storage, read> dy: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> w: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> dx: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> w: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let depth = params.channels / LANES;
    if (i >= params.batch * params.height * params.width * depth) {
        return;
    }
    let c = i % depth;
    let at = place(i / depth, params.height, params.width);
    @if(!vec4) var sum = 0.0;
    @if(vec4) var sum = vec4f(0.0);
    for (var ky = 0u; ky < params.kernel; ky++) {
        // The pixel of y whose tap lies here, times the stride; below 0 it wraps around and is too large.
        let sy = at.y + params.padding - ky;
        if (sy % params.stride != 0u || sy / params.stride >= params.out_height) {
            continue;
        }
        for (var kx = 0u; kx < params.kernel; kx++) {
            let sx = at.x + params.padding - kx;
            if (sx % params.stride == 0u && sx / params.stride < params.out_width) {
                let m = (at.picture * params.out_height + sy / params.stride) * params.out_width + sx / params.stride;
                sum += dy[m * depth + c] * w[(ky * params.kernel + kx) * depth + c];
            }
        }
    }
    dx[i] = sum;
}
