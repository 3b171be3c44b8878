// Dropout (Srivastava et al., 2014), scaled at training time: y = 0 with probability p, else x * keep_scale.
//
// keep_scale = 1 / (1 - p) and threshold = p * 2^32: an element is dropped when its random word is below threshold.
// The word is a hash of (seed, update, micro-batch, node, element), so no mask is stored: the backward pass runs this
// same kernel on the gradient, and a recomputed forward pass drops the same elements.
//
// Shapes: x and y hold n elements each. `node` tells the dropouts of one step apart.
// Reads x, writes y. Variant in_place: reads and writes y only.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::random::random4;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
    node: u32,
    threshold: u32,
    keep_scale: f32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    let dropped = random4(step, params.node, 4u * i) < vec4u(params.threshold);
    @if(!in_place) let v = x[i];
    @if(in_place) let v = y[i];
    y[i] = select(v * params.keep_scale, vec4f(0.0), dropped);
}
