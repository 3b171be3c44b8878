// Backward of softmax cross-entropy, averaged over the samples of an accumulation window:
// dlogits[r, c] = (exp(logits[r, c] - lse[r]) - (1 if c == label[r] else 0)) * step.inv_samples.
//
// Shapes: logits and dlogits are [rows, classes]; labels (u32) and lse are [rows]; lse comes from cross_entropy.
// Reads logits, labels and lse, writes dlogits. Variant in_place: dlogits overwrites logits, which saves a tensor of
// the size of the logits. Rows with the label 0xffffffff are padding and get 0.
//
// One invocation handles four neighbouring elements of the flat array; they may lie in different rows.

import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;
const IGNORE: u32 = 0xffffffffu;

struct Params {
    rows: u32,
    classes: u32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@if(!in_place) @group(0) @binding(1) var<storage, read> labels: array<u32>;
@if(!in_place) @group(0) @binding(2) var<storage, read> lse: array<f32>;
@if(!in_place) @group(0) @binding(3) var<storage, read_write> dlogits: array<vec4f>;
@if(in_place) @group(0) @binding(0) var<storage, read> labels: array<u32>;
@if(in_place) @group(0) @binding(1) var<storage, read> lse: array<f32>;
@if(in_place) @group(0) @binding(2) var<storage, read_write> dlogits: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

fn slope(logit: f32, element: u32) -> f32 {
    // The last invocation may stand past the last row: it writes padding there, but must not read past the labels.
    let r = min(element / params.classes, params.rows - 1u);
    let label = labels[r];
    let target_probability = select(0.0, 1.0, element - r * params.classes == label);
    let d = (exp(logit - lse[r]) - target_probability) * step.inv_samples;
    return select(d, 0.0, label == IGNORE);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.rows * params.classes + 3u) / 4u) {
        return;
    }
    @if(!in_place) let v = logits[i];
    @if(in_place) let v = dlogits[i];
    let e = 4u * i;
    dlogits[i] = vec4f(slope(v.x, e), slope(v.y, e + 1u), slope(v.z, e + 2u), slope(v.w, e + 3u));
}
