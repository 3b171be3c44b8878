// Rectifier with a ceiling: y = min(max(x, 0), 6). The activation of MobileNet.
//
// Shapes: x and y hold n elements each.
// Reads x, writes y. Variant in_place: y overwrites x.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

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
    y[i] = select(select(v, vec4f(6.0), v > vec4f(6.0)), vec4f(0.0), v < vec4f(0.0));
}
