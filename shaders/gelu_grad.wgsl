// Backward of GELU: dx = dy * d gelu(x) / dx.
//
// Variant exact: slope = cdf(x) + x * pdf(x), the standard normal distribution and its density.
// Variant tanh:  slope = s + 2 x s (1 - s) u', with s = 1 / (1 + exp(-2 u)) and u = sqrt(2 / pi) * (x + 0.044715 * x^3).
//
// Shapes: dy, x and dx hold n elements each. x is the INPUT of gelu: the output does not determine the slope.
// Reads dy and x, writes dx. With in_place: dx overwrites dy.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::gelu::{gelu_exact_slope, gelu_tanh_slope};

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(!in_place) @group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> x: array<vec4f>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> dx: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(!in_place) let d = dy[i];
    @if(in_place) let d = dx[i];
    @if(exact) dx[i] = d * gelu_exact_slope(x[i]);
    @if(tanh) dx[i] = d * gelu_tanh_slope(x[i]);
}
