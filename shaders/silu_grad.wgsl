// Backward of SiLU: dx = dy * s * (1 + x * (1 - s)), with s = 1 / (1 + exp(-x)).
//
// Shapes: dy, x and dx hold n elements each. x is the INPUT of silu: the output does not determine the slope.
// Reads dy and x, writes dx. Variant in_place: dx overwrites dy.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

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
    let v = x[i];
    // 1 - s is written e * s, as the subtraction would lose its digits. Past -80 the slope is 0 to an F32.
    let bounded = clamp(v, vec4f(-80.0), vec4f(80.0));
    let e = exp(-bounded);
    let s = 1.0 / (1.0 + e);
    dx[i] = d * s * (1.0 + bounded * (e * s));
}
