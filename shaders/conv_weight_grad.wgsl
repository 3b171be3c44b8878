// Gradient of a convolution by its weights, in parts: dw[s, t, c, o] = sum over the pixels m of part s of
// x[pixel(m, t), c] * dy[m, o]. The parts are added up afterwards, in order. Any shape, any groups.
//
// Shapes: x is [batch, height, width, channels]; dy is [batch, out_height, out_width, out_channels]; dw is
// [splits, kernel, kernel, channels / groups, out_channels]. Part s has the pixels from s * ceil(pixels / splits) on.
// Reads x and dy, writes the parts row0 to row0 + rows - 1 of dw.
// Variant vec4: out_channels / groups is a multiple of 4.
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
    out_channels: u32,
    kernel: u32,         // side of the window
    stride: u32,
    padding: u32,
    groups: u32,
    row0: u32,           // first row of the output in this dispatch
    rows: u32,           // rows of the output in this dispatch
    splits: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> dy: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> dw: array<f32>;
@if(vec4) @group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> dw: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@if(!vec4) const LANES: u32 = 1u;
@if(vec4) const LANES: u32 = 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = params.out_channels / LANES;
    let depth = params.channels / params.groups;
    let weights = params.kernel * params.kernel * depth * columns;
    let part = params.row0 + i / weights;
    if (i / weights >= params.rows || part >= params.splits) {
        return;
    }
    let o = i % columns;
    let c = i / columns % depth;
    let t = i / (columns * depth) % (params.kernel * params.kernel);
    let channel = o * LANES / (params.out_channels / params.groups) * depth + c;
    let ky = i32(t / params.kernel) - i32(params.padding);
    let kx = i32(t % params.kernel) - i32(params.padding);
    let pixels = params.batch * params.out_height * params.out_width;
    let share = (pixels + params.splits - 1u) / params.splits;
    let end = min((part + 1u) * share, pixels);
    @if(!vec4) var sum = 0.0;
    @if(vec4) var sum = vec4f(0.0);
    for (var m = part * share; m < end; m++) {
        let at = place(m, params.out_height, params.out_width);
        let iy = i32(at.y * params.stride) + ky;
        let ix = i32(at.x * params.stride) + kx;
        if (iy >= 0 && iy < i32(params.height) && ix >= 0 && ix < i32(params.width)) {
            let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
            sum += x[pixel * params.channels + channel] * dy[m * columns + o];
        }
    }
    dw[params.row0 * weights + i] = sum;
}
