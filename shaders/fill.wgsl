// Sets every element to one number: y = value.
//
// Shapes: y holds n elements. Writes y, reads nothing.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    value: f32,
}

@group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    y[i] = vec4f(params.value);
}
