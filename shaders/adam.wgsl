// Adam (Kingma and Ba, 2015): moving averages of the gradient and of its square.
//
//   d = clip * g + weight_decay * w
//   m = beta1 * m + (1 - beta1) * d
//   v = beta2 * v + (1 - beta2) * d^2
//   w -= lr * (m / bias1) / (sqrt(v / bias2) + eps)
//
// As torch.optim.Adam. Variant decoupled is AdamW (Loshchilov and Hutter, 2019): d = clip * g, and first
// w *= 1 - lr * weight_decay.
// bias1 = 1 - beta1^t and bias2 = 1 - beta2^t come from the step uniform, and must be computed from beta1 and beta2 as
// rounded to F32, as 1 - beta2 is here: at t = 1 both then cancel. lr is step.lr; clip is norm[1] from norm_finish,
// 1 when nothing is clipped.
//
// Shapes: g, w, m and v hold n elements each, norm holds 2.
// Reads norm and g, reads and writes w, m and v: two numbers of state per weight.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    beta1: f32,
    beta2: f32,
    eps: f32,
    weight_decay: f32,
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> w: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> m: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> v: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(!decoupled) let weight = w[i];
    @if(!decoupled) let d = norm[1] * g[i] + params.weight_decay * weight;
    @if(decoupled) let weight = w[i] * (1.0 - step.lr * params.weight_decay);
    @if(decoupled) let d = norm[1] * g[i];
    let mean = params.beta1 * m[i] + (1.0 - params.beta1) * d;
    let square = params.beta2 * v[i] + (1.0 - params.beta2) * d * d;
    m[i] = mean;
    v[i] = square;
    w[i] = weight - step.lr * (mean / step.bias1) / (sqrt(square / step.bias2) + params.eps);
}
