// Gradient of mean pooling: dx[p, c] = sum of dy[m, c] / kernel^2 over the windows m that p lies under.
//
// Shapes: dy is [batch, out_height, out_width, channels]; dx is [batch, height, width, channels].
// Reads dy, writes dx. One invocation computes one channel of one pixel.

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
@group(0) @binding(1) var<storage, read_write> dx: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= params.batch * params.height * params.width * params.channels) {
        return;
    }
    let c = i % params.channels;
    let at = place(i / params.channels, params.height, params.width);
    var sum = 0.0;
    for (var ky = 0u; ky < params.kernel; ky++) {
        // Below 0 they wrap around and are too large.
        let sy = at.y + params.padding - ky;
        for (var kx = 0u; kx < params.kernel; kx++) {
            let sx = at.x + params.padding - kx;
            let oy = sy / params.stride;
            let ox = sx / params.stride;
            if (sy % params.stride == 0u && sx % params.stride == 0u && oy < params.out_height && ox < params.out_width) {
                sum += dy[((at.picture * params.out_height + oy) * params.out_width + ox) * params.channels + c];
            }
        }
    }
    dx[i] = sum / f32(params.kernel * params.kernel);
}
