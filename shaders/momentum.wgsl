// Gradient descent with momentum: d = clip * g + weight_decay * w, v = momentum * v + d, w -= lr * v.
//
// Variant nesterov: w -= lr * (d + momentum * v) with the new v.
// As torch.optim.SGD with dampening 0. v starts at 0, so the first update has v = d, as torch has it.
// lr is step.lr; clip is norm[1] from norm_finish, 1 when nothing is clipped.
//
// Shapes: g, w and v hold n elements each, norm holds 2.
// Reads norm and g, reads and writes w and v: one number of state per weight.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    momentum: f32,
    weight_decay: f32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> w: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> v: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    let d = norm[1] * g[i] + params.weight_decay * w[i];
    let velocity = params.momentum * v[i] + d;
    v[i] = velocity;
    @if(!nesterov) w[i] -= step.lr * velocity;
    @if(nesterov) w[i] -= step.lr * (d + params.momentum * velocity);
}
