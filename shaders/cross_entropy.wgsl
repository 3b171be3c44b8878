// Softmax cross-entropy of each row: loss[r] = lse[r] - logits[r, label[r]], lse[r] = log(sum over c of exp(logits[r, c])).
//
// Shapes: logits is [rows, classes]; labels (u32), loss and lse are [rows].
// Reads logits and labels, writes loss and lse. lse is kept for the backward pass, which then needs no second sum.
// A row with the label 0xffffffff is padding: its loss is 0. Any other label that is no class gives a NaN loss.
//
// One invocation handles one row in two passes: the largest logit first, then the sum of exp(logit - largest), which
// cannot overflow. With few classes a row is too short to share between invocations.

import package::lib::index::linear_index;

override WG: u32 = 64u;
const IGNORE: u32 = 0xffffffffu;

struct Params {
    rows: u32,
    classes: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> labels: array<u32>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let r = linear_index(gid, groups, WG);
    if (r >= params.rows) {
        return;
    }
    let first = r * params.classes;
    var largest = logits[first];
    for (var c = 1u; c < params.classes; c++) {
        largest = max(largest, logits[first + c]);
    }
    var sum = 0.0;
    for (var c = 0u; c < params.classes; c++) {
        sum += exp(logits[first + c] - largest);
    }
    let log_sum = log(sum);
    lse[r] = largest + log_sum;

    let label = labels[r];
    if (label == IGNORE) {
        loss[r] = 0.0;
    } else if (label >= params.classes) {
        // A constant NaN is an error in WGSL; these bits are one for every label.
        loss[r] = bitcast<f32>(label | 0x7fc00000u);
    } else {
        // The small difference is taken first: lse - logit would round at the size of the logits.
        loss[r] = (largest - logits[first + label]) + log_sum;
    }
}
