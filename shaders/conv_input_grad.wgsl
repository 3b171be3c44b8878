// Gradient of a convolution by its input: dx[p, c] = sum over taps t and out channels o of dy[m, o] * w[t, c, o], over
// the pixels m of y whose tap t lies on p. Any shape, any groups.
//
// Shapes: dy is [batch, out_height, out_width, out_channels]; w is [kernel, kernel, channels / groups, out_channels];
// dx is [batch, height, width, channels].
// Reads dy and w, writes the pixels row0 to row0 + rows - 1 of dx.
// Variant vec4: out_channels / groups is a multiple of 4.
//
// One invocation computes one channel of one pixel; in vec4 it reads four out channels at a time.

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

@if(!vec4) @group(0) @binding(0) var<storage, read> dy: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> w: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> dx: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let r = i / params.channels;
    let c = i % params.channels;
    let p = params.row0 + r;
    if (r >= params.rows || p >= params.batch * params.height * params.width) {
        return;
    }
    let at = place(p, params.height, params.width);
    let depth = params.channels / params.groups;
    let columns = params.out_channels / LANES;
    let span = columns / params.groups;
    let first = c / depth * span;
    var sum = 0.0;
    for (var ky = 0u; ky < params.kernel; ky++) {
        // The pixel of y whose tap lies here, times the stride; below 0 it wraps around and is too large.
        let sy = at.y + params.padding - ky;
        if (sy % params.stride != 0u || sy / params.stride >= params.out_height) {
            continue;
        }
        for (var kx = 0u; kx < params.kernel; kx++) {
            let sx = at.x + params.padding - kx;
            if (sx % params.stride != 0u || sx / params.stride >= params.out_width) {
                continue;
            }
            let m = (at.picture * params.out_height + sy / params.stride) * params.out_width + sx / params.stride;
            let from_dy = m * columns + first;
            let from_w = ((ky * params.kernel + kx) * depth + c % depth) * columns + first;
            for (var o = 0u; o < span; o++) {
                @if(!vec4) sum += dy[from_dy + o] * w[from_w + o];
                @if(vec4) sum += dot(dy[from_dy + o], w[from_w + o]);
            }
        }
    }
    dx[p * params.channels + c] = sum;
}
