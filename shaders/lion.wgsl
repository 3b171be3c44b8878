// Lion: every weight moves by the same amount, in the direction of the sign of a moving average of the gradient.
//
//   d = clip * g
//   u = sign(beta1 * m + (1 - beta1) * d), with sign(0) = 0
//   w = w * (1 - lr * weight_decay) - lr * u
//   m = beta2 * m + (1 - beta2) * d
//
// Chen et al., 2023, arXiv:2302.06675. The decay is decoupled, as in AdamW. lr is step.lr; clip is norm[1] from
// norm_finish, 1 when nothing is clipped. Where norm[2] is not 0 the update is skipped: nothing is written.
//
// Shapes: g, w and m hold n elements each, norm holds the 8 numbers of norm_finish.
// Reads norm and g, reads and writes w and m: one number of state per weight.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    beta1: f32,
    beta2: f32,
    weight_decay: f32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> w: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> m: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    // A broken gradient: norm_finish asks to leave everything as it is.
    if (norm[2] != 0.0) {
        return;
    }
    let d = norm[1] * g[i];
    let mean = m[i];
    let u = sign(params.beta1 * mean + (1.0 - params.beta1) * d);
    w[i] = w[i] * (1.0 - step.lr * params.weight_decay) - step.lr * u;
    m[i] = params.beta2 * mean + (1.0 - params.beta2) * d;
}
