// Adafactor's second moment of a tensor that is not factored: a vector has nothing to gain by it.
//
//   d = clip * g, beta = 1 - t^(-0.8)
//   v = beta * v + (1 - beta) * (d^2 + 1e-30)
//
// Shazeer and Stern, 2018, arXiv:1804.04235, algorithm 5. t is norm[5]; clip is norm[1] from norm_finish. Where norm[2]
// is not 0 the update is skipped: nothing is written.
//
// Shapes: g and v hold n elements each, norm holds the 8 numbers of norm_finish.
// Reads norm and g, reads and writes v.
// One invocation handles four neighbouring elements.

import package::lib::adafactor::{TINY, new_share};
import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> v: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    // A broken gradient: norm_finish asks to leave everything as it is.
    if (i >= (params.n + 3u) / 4u || norm[2] != 0.0) {
        return;
    }
    let share = new_share(norm[5]);
    let d = norm[1] * g[i];
    v[i] = (1.0 - share) * v[i] + share * (d * d + TINY);
}
