// Backward of the logistic function: dx = dy * y * (1 - y).
//
// Shapes: dy, y and dx hold n elements each. y is the OUTPUT of sigmoid: it determines the slope.
// Reads dy and y, writes dx. Variant in_place: dx overwrites dy.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(!in_place) @group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> y: array<vec4f>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> y: array<vec4f>;
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
    let v = y[i];
    dx[i] = d * v * (1.0 - v);
}
