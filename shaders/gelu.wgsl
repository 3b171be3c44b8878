// Gaussian error linear unit (Hendrycks and Gimpel, 2016), in the two forms PyTorch has.
//
// Variant exact: y = x * cdf(x), with cdf the standard normal distribution function, 0.5 * (1 + erf(x / sqrt(2))).
// Variant tanh:  y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
//
// Shapes: x and y hold n elements each.
// Reads x, writes y. With in_place: reads and writes y only.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::gelu::{normal_cdf, gelu_tanh_gate};

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(!in_place) let v = x[i];
    @if(in_place) let v = y[i];
    @if(exact) y[i] = v * normal_cdf(v);
    @if(tanh) y[i] = v * gelu_tanh_gate(v);
}
