// Sum of two tensors of one shape: y = a + b. Also sums two gradients that reach one value.
//
// Shapes: a, b and y hold n elements each.
// Reads a and b, writes y. Variant in_place: y += b; reads b, reads and writes y.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(!in_place) @group(0) @binding(0) var<storage, read> a: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> b: array<vec4f>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> b: array<vec4f>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(!in_place) y[i] = a[i] + b[i];
    @if(in_place) y[i] = y[i] + b[i];
}
