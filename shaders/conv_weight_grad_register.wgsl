// Gradient of a convolution by its weights, in parts: dw[s, t, c, o] = sum over the pixels m of part s of
// x[pixel(m, t), c] * dy[m, o]. The parts are added up afterwards, in order.
//
// Shapes: as in conv_weight_grad.wgsl with groups = 1. channels and out_channels must be multiples of 4.
// Reads x and dy, writes the parts row0 to row0 + rows - 1 of dw.
//
// One invocation computes one tap of 8 channels by 8 out channels of one part in registers, pixel by pixel: 4 vec4f
// loads for 64 multiplications. No workgroup memory, no barrier.

import package::lib::block::{Sums, add_outer};
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

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> dw: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// Channel c of the tap whose weights begin at `start`, out channels 4q to 4q + 7.
fn store(start: u32, c: u32, q: u32, left: vec4f, right: vec4f) {
    if (c >= params.channels) {
        return;
    }
    let quads = params.out_channels / 4u;
    let at = start + c * quads + q;
    dw[at] = left;
    if (q + 1u < quads) {
        dw[at + 1u] = right;
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let quads = params.out_channels / 4u;
    let depth = params.channels / 4u;
    let columns = (quads + 1u) / 2u;
    let blocks = (depth + 1u) / 2u;
    let taps = params.kernel * params.kernel;
    let q = 2u * (i % columns);
    let block = 2u * (i / columns % blocks);
    let t = i / (columns * blocks) % taps;
    let r = i / (columns * blocks * taps);
    if (r >= params.rows) {
        return;
    }
    let part = params.row0 + r;
    let ky = i32(t / params.kernel) - i32(params.padding);
    let kx = i32(t % params.kernel) - i32(params.padding);
    let pixels = params.batch * params.out_height * params.out_width;
    let share = (pixels + params.splits - 1u) / params.splits;
    let first = min(part * share, pixels);
    let end = min(first + share, pixels);
    let right = min(q + 1u, quads - 1u);
    let below = min(block + 1u, depth - 1u);
    // The pixel is counted up by hand: two divisions for each would cost more than the multiplications.
    var at = place(first, params.out_height, params.out_width);
    var sums: Sums;
    for (var m = first; m < end; m++) {
        let iy = i32(at.y * params.stride) + ky;
        let ix = i32(at.x * params.stride) + kx;
        if (iy >= 0 && iy < i32(params.height) && ix >= 0 && ix < i32(params.width)) {
            let pixel = (at.picture * params.height + u32(iy)) * params.width + u32(ix);
            add_outer(&sums, x[pixel * depth + block], x[pixel * depth + below], dy[m * quads + q], dy[m * quads + right]);
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
    let start = (part * taps + t) * params.channels * quads;
    let c = 4u * block;
    store(start, c, q, sums.r0, sums.s0);
    store(start, c + 1u, q, sums.r1, sums.s1);
    store(start, c + 2u, q, sums.r2, sums.s2);
    store(start, c + 3u, q, sums.r3, sums.s3);
    store(start, c + 4u, q, sums.r4, sums.s4);
    store(start, c + 5u, q, sums.r5, sums.s5);
    store(start, c + 6u, q, sums.r6, sums.s6);
    store(start, c + 7u, q, sums.r7, sums.s7);
}
