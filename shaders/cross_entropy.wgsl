// Softmax cross-entropy of each row: loss[r] = lse[r] - logits[r, label[r]], lse[r] = log(sum over c of exp(logits[r, c])).
//
// Shapes: logits is [rows, classes]; labels (u32), loss and lse are [rows].
// Reads logits and labels, writes loss and lse. lse is kept for the backward pass, which then needs no second sum.
// A row with the label 0xffffffff is padding: its loss is 0. Any other label that is no class gives a NaN loss.
//
// Variant row: one invocation handles one row. Variant group: a workgroup handles one row, its invocations every 64th
// class, which pays for a wide vocabulary on a graphics card. Both take two passes: the largest logit first, then the
// sum of exp(logit - largest), which cannot overflow.

import package::lib::row::{WG, STRIDE, row_of, first_of, row_max, row_sum};

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
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(workgroup_id) workgroup: vec3u,
        @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) lane: u32) {
    let r = row_of(gid, workgroup, groups);
    if (r >= params.rows) {
        return;
    }
    let row = r * params.classes;
    let first = first_of(lane);
    // An invocation beyond a short row looks at its last class again, which changes nothing about the largest.
    var share = logits[row + min(first, params.classes - 1u)];
    for (var c = first + STRIDE; c < params.classes; c += STRIDE) {
        share = max(share, logits[row + c]);
    }
    let largest = row_max(share, lane);
    var sum = 0.0;
    for (var c = first; c < params.classes; c += STRIDE) {
        sum += exp(logits[row + c] - largest);
    }
    let log_sum = log(row_sum(vec2f(sum, 0.0), lane).x);
    if (first > 0u) {
        return;
    }
    lse[r] = largest + log_sum;

    let label = labels[r];
    if (label == IGNORE) {
        loss[r] = 0.0;
    } else if (label >= params.classes) {
        // A constant NaN is an error in WGSL; these bits are one for every label.
        loss[r] = bitcast<f32>(label | 0x7fc00000u);
    } else {
        // The small difference is taken first: lse - logit would round at the size of the logits.
        loss[r] = (largest - logits[row + label]) + log_sum;
    }
}
