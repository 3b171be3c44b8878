// Multiplies every element by one number that stands in a buffer: y = x * s[0].
//
// Unlike in scale, the number may change from step to step on the device: here stands the loss scale, by which the
// gradient of the logits is multiplied.
//
// Shapes: x and y hold n elements each, s at least 1.
// Reads x and s, writes y. Variant in_place: reads s, reads and writes y.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> s: array<f32>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> s: array<f32>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(!in_place) y[i] = x[i] * s[0];
    @if(in_place) y[i] = y[i] * s[0];
}
