// Gradient of a depthwise convolution by its weights, in parts: dw[s, t, c] = sum over the pixels m of part s of
// x[pixel(m, t), c] * dy[m, c]. The parts are added up afterwards, in order.
//
// Shapes: x is [batch, height, width, channels]; dy is [batch, out_height, out_width, channels]; dw is
// [splits, kernel, kernel, channels]. Part s has the pixels from s * ceil(pixels / splits) on.
// Reads x and dy, writes dw.
// Variant vec4: channels is a multiple of 4.
//
// One invocation computes one weight of one part, in vec4 four of them.

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
    splits: u32,
}

@if(!vec4) @group(0) @binding(0) var<storage, read> x: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> dy: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> dw: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> dw: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let depth = params.channels / LANES;
    let taps = params.kernel * params.kernel;
    let part = i / (taps * depth);
    if (part >= params.splits) {
        return;
    }
    let c = i % depth;
    let t = i / depth % taps;
    let ky = i32(t / params.kernel) - i32(params.padding);
    let kx = i32(t % params.kernel) - i32(params.padding);
    let pixels = params.batch * params.out_height * params.out_width;
    let share = (pixels + params.splits - 1u) / params.splits;
    let first = min(part * share, pixels);
    let end = min(first + share, pixels);
    var at = place(first, params.out_height, params.out_width);
    @if(!vec4) var sum = 0.0;
    @if(vec4) var sum = vec4f(0.0);
    for (var m = first; m < end; m++) {
        let iy = i32(at.y * params.stride) + ky;
        let ix = i32(at.x * params.stride) + kx;
        if (iy >= 0 && iy < i32(params.height) && ix >= 0 && ix < i32(params.width)) {
            let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
            sum += x[pixel * depth + c] * dy[m * depth + c];
        }
        at.x++;
        if (at.x == params.out_width) {
            at.x = 0u;
            at.y++;
            if (at.y == params.out_height) {
                at.y = 0u;
                at.picture++;
            }
        }
    }
    dw[i] = sum;
}
