// Stochastic gradient descent: w -= lr * (clip * g + weight_decay * w).
//
// As torch.optim.SGD without momentum. lr is step.lr; clip is norm[1] from norm_finish, 1 when nothing is clipped.
//
// Shapes: g and w hold n elements each, norm holds 2.
// Reads norm and g, reads and writes w. Needs no state.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    weight_decay: f32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> w: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    let d = norm[1] * g[i] + params.weight_decay * w[i];
    w[i] -= step.lr * d;
}
