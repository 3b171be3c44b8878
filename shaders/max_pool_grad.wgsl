// Gradient of max pooling: dx[p, c] = sum of dy[m, c] over the windows m whose largest value stands at p, the first in
// reading order where several are equal (as in PyTorch). Every window is searched again: no index is kept for it.
//
// Shapes: dy is [batch, out_height, out_width, channels]; x and dx are [batch, height, width, channels].
// Reads dy and x, writes dx. One invocation computes one channel of one pixel.

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

@group(0) @binding(0) var<storage, read> dy: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dx: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

// Whether the largest value of channel c under the window at (oy, ox) stands at pixel p.
fn is_largest(p: u32, picture: u32, oy: u32, ox: u32, c: u32) -> bool {
    let here = x[p * params.channels + c];
    for (var ky = 0u; ky < params.kernel; ky++) {
        // Below 0 they wrap around and are too large.
        let iy = oy * params.stride + ky - params.padding;
        for (var kx = 0u; kx < params.kernel; kx++) {
            let ix = ox * params.stride + kx - params.padding;
            if (iy >= params.height || ix >= params.width) {
                continue;
            }
            let q = (picture * params.height + iy) * params.width + ix;
            let v = x[q * params.channels + c];
            if (v > here || (v == here && q < p)) {
                return false;
            }
        }
    }
    return true;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= params.batch * params.height * params.width * params.channels) {
        return;
    }
    let c = i % params.channels;
    let p = i / params.channels;
    let at = place(p, params.height, params.width);
    var sum = 0.0;
    for (var ky = 0u; ky < params.kernel; ky++) {
        let sy = at.y + params.padding - ky;
        for (var kx = 0u; kx < params.kernel; kx++) {
            let sx = at.x + params.padding - kx;
            let oy = sy / params.stride;
            let ox = sx / params.stride;
            if (sy % params.stride != 0u || sx % params.stride != 0u || oy >= params.out_height || ox >= params.out_width) {
                continue;
            }
            if (is_largest(p, at.picture, oy, ox, c)) {
                sum += dy[((at.picture * params.out_height + oy) * params.out_width + ox) * params.channels + c];
            }
        }
    }
    dx[i] = sum;
}
