// Gradient of a convolution by its input as a matrix product that is never written out: dx[p, c] = sum over taps t and
// out channels o of dy[m, o] * w[t, c, o], over the pixels m of y whose tap t lies on p.
//
// Shapes: as in conv_input_grad.wgsl with groups = 1. channels and out_channels must be multiples of 4.
// Reads dy and w, writes the pixels row0 to row0 + rows - 1 of dx.
//
// One invocation computes 8 pixels by 8 channels of dx in registers, four out channels at a time: 16 vec4f loads for
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

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

// Out channels 4q to 4q + 3 of four pixels of dy, channel by channel; 0 for the pixels that are not inside.
fn load_dy(pixel: vec4u, inside: vec4<bool>, q: u32) -> Block {
    let zero = vec4f(0.0);
    return turned(Block(select(zero, dy[pixel.x + q], inside.x), select(zero, dy[pixel.y + q], inside.y),
                        select(zero, dy[pixel.z + q], inside.z), select(zero, dy[pixel.w + q], inside.w)));
}

// Four rows of w from row `row`, out channels 4q to 4q + 3, channel by channel.
fn load_w(row: u32, quads: u32, q: u32) -> Block {
    let at = row * quads + q;
    return turned(Block(w[at], w[at + quads], w[at + 2u * quads], w[at + 3u * quads]));
}

fn store(r: u32, q: u32, left: vec4f, right: vec4f) {
    if (r >= params.rows) {
        return;
    }
    let quads = params.channels / 4u;
    let at = (params.row0 + r) * quads + q;
    dx[at] = left;
    if (q + 1u < quads) {
        dx[at + 1u] = right;
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let columns = (params.channels / 4u + 1u) / 2u;
    let r = 8u * (i / columns);
    let q = 2u * (i % columns);
    if (r >= params.rows) {
        return;
    }
    let p = params.row0 + r;
    let end = params.row0 + params.rows;
    let high = places(p, end, params.height, params.width);
    let low = places(p + 4u, end, params.height, params.width);
    let quads = params.out_channels / 4u;
    let stride = vec4u(params.stride);
    let high_end = vec4u(params.out_height);
    let wide_end = vec4u(params.out_width);
    let left_row = 4u * q;
    let right_row = min(left_row + 4u, params.channels - 4u);
    var sums: Sums;
    for (var t = 0u; t < params.kernel * params.kernel; t++) {
        // The pixels of y whose tap lies here, times the stride; below 0 they wrap around and are too large.
        let ky = params.padding - t / params.kernel;
        let kx = params.padding - t % params.kernel;
        let hy = high.y + ky;
        let hx = high.x + kx;
        let ly = low.y + ky;
        let lx = low.x + kx;
        let h_inside = (hy % stride == vec4u(0u)) & (hx % stride == vec4u(0u)) & (hy / stride < high_end) & (hx / stride < wide_end);
        let l_inside = (ly % stride == vec4u(0u)) & (lx % stride == vec4u(0u)) & (ly / stride < high_end) & (lx / stride < wide_end);
        if (!any(h_inside) && !any(l_inside)) {
            continue;
        }
        let h_pixel = select(vec4u(0u), (high.picture * params.out_height + hy / stride) * params.out_width + hx / stride, h_inside);
        let l_pixel = select(vec4u(0u), (low.picture * params.out_height + ly / stride) * params.out_width + lx / stride, l_inside);
        let start = t * params.channels;
        for (var o = 0u; o < quads; o++) {
            let upper = load_dy(h_pixel * quads, h_inside, o);
            let lower = load_dy(l_pixel * quads, l_inside, o);
            let left = load_w(start + left_row, quads, o);
            let right = load_w(start + right_row, quads, o);
            add_outer(&sums, upper.p0, lower.p0, left.p0, right.p0);
            add_outer(&sums, upper.p1, lower.p1, left.p1, right.p1);
            add_outer(&sums, upper.p2, lower.p2, left.p2, right.p2);
            add_outer(&sums, upper.p3, lower.p3, left.p3, right.p3);
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
