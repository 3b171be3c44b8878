// Whether each row's label is among its k largest logits: hits[r] = 1 if fewer than k classes come before it, else 0.
//
// Shapes: logits is [rows, classes]; labels (u32) and hits are [rows].
// Reads logits and labels, writes hits. Of equal logits the first comes before the others, so k = 1 asks for the argmax.
// Padding rows (label 0xffffffff) get 0, and so do rows that hold a NaN: a diverged model must not score.
//
// One invocation handles one row.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    classes: u32,
    k: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> labels: array<u32>;
@group(0) @binding(2) var<storage, read_write> hits: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

// A test of the bits: compilers may take it that x != x never holds.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let r = linear_index(gid, groups, WG);
    if (r >= params.rows) {
        return;
    }
    let first = r * params.classes;
    let label = labels[r];
    if (label >= params.classes) {
        hits[r] = 0.0;
        return;
    }
    let own = logits[first + label];
    var before = 0u;
    var has_nan = false;
    for (var c = 0u; c < params.classes; c++) {
        let logit = logits[first + c];
        has_nan = has_nan || is_nan(logit);
        before += select(0u, 1u, logit > own || (logit == own && c < label));
    }
    hits[r] = select(0.0, 1.0, before < params.k && !has_nan);
}
