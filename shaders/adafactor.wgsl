// Adafactor's update of a tensor, from its second moment and the sums of adafactor_partials.
//
//   u = d / sqrt(vhat), d = clip * g
//   vhat = r[b, i] * c[b, j] / m[b] in the variant factored, v in the variant full
//   rho = lr, and where relative is set min(lr, 1 / sqrt(t)), or min(1e-6 * t, 1 / sqrt(t)) with warmup_init
//   alpha = rho, and where relative is set max(1e-3, RMS(w)) * rho
//   w = w * (1 - alpha * weight_decay) - alpha * u / max(1, RMS(u) / threshold)
//
// Shazeer and Stern, 2018, arXiv:1804.04235: the update as a whole is clipped to the length `threshold` (in the root
// mean square), and the step can be relative to the size of the weights. As in the Adafactor of the transformers
// library. lr is step.lr; t is norm[5]; clip is norm[1] from norm_finish. Where norm[2] is not 0 the update is skipped:
// nothing is written.
//
// Shapes: g and w are [batch, rows, cols] with n elements, r [batch, rows], c [batch, cols], m [batch], v as g; norm
// holds the 8 numbers of norm_finish, partials the 128 of adafactor_partials.
// Reads norm, g and partials, and r, c and m, or v; reads and writes w.
// One invocation handles four neighbouring elements; every workgroup first adds up the partials in a fixed order.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;
const SHARES: u32 = 64u;

struct Params {
    n: u32,             // elements
    rows: u32,
    cols: u32,
    threshold: f32,     // largest root mean square of the update
    weight_decay: f32,
    relative: u32,      // 1: the step is relative to the size of the weights
    warmup_init: u32,   // 1: a relative step begins at 1e-6 and grows with t
}

@group(0) @binding(0) var<storage, read> norm: array<f32>;
@group(0) @binding(1) var<storage, read> g: array<vec4f>;
@group(0) @binding(2) var<storage, read> partials: array<f32>;
@if(factored) @group(0) @binding(3) var<storage, read> r: array<f32>;
@if(factored) @group(0) @binding(4) var<storage, read> c: array<f32>;
@if(factored) @group(0) @binding(5) var<storage, read> m: array<f32>;
@if(factored) @group(0) @binding(6) var<storage, read_write> w: array<vec4f>;
@if(full) @group(0) @binding(3) var<storage, read> v: array<vec4f>;
@if(full) @group(0) @binding(4) var<storage, read_write> w: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

var<workgroup> sums: array<vec2f, WG>;

// The roots of the estimated squares of four neighbouring gradients. Those past the end repeat the last one.
@if(factored)
fn roots(i: u32) -> vec4f {
    let e = min(vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u), vec4u(params.n - 1u));
    let row = e / params.cols;
    let b = row / params.rows;
    let column = b * params.cols + e % params.cols;
    let rows = vec4f(r[row.x], r[row.y], r[row.z], r[row.w]);
    let cols = vec4f(c[column.x], c[column.y], c[column.z], c[column.w]);
    // Divided first: the product of two estimates near 1e-30 would be 0.
    return sqrt(rows / vec4f(m[b.x], m[b.y], m[b.z], m[b.w]) * cols);
}

@if(full)
fn roots(i: u32) -> vec4f {
    return sqrt(v[i]);
}

// The root mean squares of the raw update and of the weights.
fn root_mean_squares(lane: u32) -> vec2f {
    var sum = vec2f(0.0);
    for (var i = lane; i < SHARES; i += WG) {
        sum += vec2f(partials[i], partials[SHARES + i]);
    }
    sums[lane] = sum;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            sums[lane] += sums[lane + half];
        }
    }
    workgroupBarrier();
    return sqrt(sums[0] / f32(params.n));
}

// alpha, the step that the update is multiplied by.
fn step_size(weights: f32) -> f32 {
    if (params.relative == 0u) {
        return step.lr;
    }
    let t = norm[5];
    let largest = select(step.lr, 1e-6 * t, params.warmup_init != 0u);
    return max(1e-3, weights) * min(largest, 1.0 / sqrt(t));
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    // A broken gradient: norm_finish asks to leave everything as it is.
    if (norm[2] != 0.0) {
        return;
    }
    let rms = root_mean_squares(lane);
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    let alpha = step_size(rms.y);
    let update = norm[1] * g[i] / roots(i) / max(1.0, rms.x / params.threshold);
    w[i] = w[i] * (1.0 - alpha * params.weight_decay) - alpha * update;
}
