// Looks up a row of a table for every token: y[r, c] = table[tokens[r], c].
//
// Shapes: tokens (u32) is [rows], table is [vocabulary, cols], y is [rows, cols].
// Reads tokens and table, writes y. A token that is not in the table gives a row of NaN, so that it cannot go unseen.
// One invocation handles one element; variant vec4, for cols a multiple of 4, four neighbouring ones.

import package::lib::columns::{Columns, COLUMNS};
import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    vocabulary: u32,
    cols: u32,
}

@group(0) @binding(0) var<storage, read> tokens: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<Columns>;
@group(0) @binding(2) var<storage, read_write> y: array<Columns>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let n = params.cols / COLUMNS;
    let i = linear_index(gid, groups, WG);
    if (i >= params.rows * n) {
        return;
    }
    let r = i / n;
    let token = tokens[r];
    if (token < params.vocabulary) {
        y[i] = table[token * n + (i - r * n)];
    } else {
        // A constant NaN is an error in WGSL; these bits are one for every token.
        y[i] = Columns(bitcast<f32>(token | 0x7fc00000u));
    }
}
