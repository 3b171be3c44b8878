// Convolution as a matrix product that is never written out: y[m, o] = sum over taps t and channels c of
// x[pixel(m, t), c] * w[t, c, o]. The rows of the left matrix are gathered from x while they are multiplied.
//
// Shapes: as in conv.wgsl with groups = 1. channels and out_channels must be multiples of 4.
// Reads x and w, writes the pixels row0 to row0 + rows - 1 of y. Taps that lie on the padding add nothing.
//
// One invocation computes 8 pixels by 8 channels of y in registers, four channels of x at a time: 16 vec4f loads for
// 256 multiplications. No workgroup memory, no barrier.

import package::lib::block::{Block, Sums, add_outer, turned};
import package::lib::index::linear_index;
import package::lib::picture::places;

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

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// Channels 4q to 4q + 3 of four pixels of x, channel by channel; 0 for the pixels that are not inside.
fn load_x(pixel: vec4u, inside: vec4<bool>, q: u32) -> Block {
    let zero = vec4f(0.0);
    return turned(Block(select(zero, x[pixel.x + q], inside.x), select(zero, x[pixel.y + q], inside.y),
                        select(zero, x[pixel.z + q], inside.z), select(zero, x[pixel.w + q], inside.w)));
}

fn store(r: u32, q: u32, left: vec4f, right: vec4f) {
    if (r >= params.rows) {
        return;
    }
    let quads = params.out_channels / 4u;
    let at = (params.row0 + r) * quads + q;
    y[at] = left;
    if (q + 1u < quads) {
        y[at + 1u] = right;
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let quads = params.out_channels / 4u;
    let columns = (quads + 1u) / 2u;
    let r = 8u * (i / columns);
    let q = 2u * (i % columns);
    if (r >= params.rows) {
        return;
    }
    let m = params.row0 + r;
    let end = params.row0 + params.rows;
    let high = places(m, end, params.out_height, params.out_width);
    let low = places(m + 4u, end, params.out_height, params.out_width);
    let pad = vec4i(i32(params.padding));
    let high_y = vec4i(high.y * params.stride) - pad;
    let high_x = vec4i(high.x * params.stride) - pad;
    let low_y = vec4i(low.y * params.stride) - pad;
    let low_x = vec4i(low.x * params.stride) - pad;
    let size = vec2i(i32(params.width), i32(params.height));
    let depth = params.channels / 4u;
    let right = min(q + 1u, quads - 1u);
    var sums: Sums;
    for (var t = 0u; t < params.kernel * params.kernel; t++) {
        let ky = i32(t / params.kernel);
        let kx = i32(t % params.kernel);
        let hy = high_y + ky;
        let hx = high_x + kx;
        let ly = low_y + ky;
        let lx = low_x + kx;
        let h_inside = (hy >= vec4i(0)) & (hy < vec4i(size.y)) & (hx >= vec4i(0)) & (hx < vec4i(size.x));
        let l_inside = (ly >= vec4i(0)) & (ly < vec4i(size.y)) & (lx >= vec4i(0)) & (lx < vec4i(size.x));
        let h_pixel = select(vec4u(0u), (high.picture * params.height + vec4u(hy)) * params.width + vec4u(hx), h_inside);
        let l_pixel = select(vec4u(0u), (low.picture * params.height + vec4u(ly)) * params.width + vec4u(lx), l_inside);
        for (var c = 0u; c < depth; c++) {
            let upper = load_x(h_pixel * depth, h_inside, c);
            let lower = load_x(l_pixel * depth, l_inside, c);
            let start = (t * params.channels + 4u * c) * quads;
            add_outer(&sums, upper.p0, lower.p0, w[start + q], w[start + right]);
            add_outer(&sums, upper.p1, lower.p1, w[start + quads + q], w[start + quads + right]);
            add_outer(&sums, upper.p2, lower.p2, w[start + 2u * quads + q], w[start + 2u * quads + right]);
            add_outer(&sums, upper.p3, lower.p3, w[start + 3u * quads + q], w[start + 3u * quads + right]);
        }
    }
    store(r, q, sums.r0, sums.s0);
    store(r + 1u, q, sums.r1, sums.s1);
    store(r + 2u, q, sums.r2, sums.s2);
    store(r + 3u, q, sums.r3, sums.s3);
    store(r + 4u, q, sums.r4, sums.s4);
    store(r + 5u, q, sums.r5, sums.s5);
    store(r + 6u, q, sums.r6, sums.s6);
    store(r + 7u, q, sums.r7, sums.s7);
}
