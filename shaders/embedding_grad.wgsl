// Backward of embedding: d_table[v, c] = sum of dy[r, c] over the rows r whose token is v.
//
// Several rows may hold one token, so adding row by row would need atomics, and its sums would change from run to run.
// Instead the rows come sorted by token: those of token v are order[starts[v]] .. order[starts[v + 1] - 1], each a row
// number, in ascending order. So every element of d_table has one writer and a sum in a fixed order.
//
// Shapes: dy is [rows, cols]; order (u32) is [rows]; starts (u32) is [vocabulary + 1]; d_table is [vocabulary, cols].
// Reads dy, order and starts (and d_table where it adds), writes d_table. accumulate: 0 overwrites d_table, 1 overwrites
// it in the first micro-batch of a window and adds in the others, 2 always adds.
// One invocation handles one element of d_table; variant vec4, for cols a multiple of 4, four neighbouring ones.

import package::lib::accumulate::adds_to_output;
import package::lib::columns::{Columns, COLUMNS};
import package::lib::index::linear_index;
import package::lib::step::Step;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    vocabulary: u32,
    cols: u32,
    accumulate: u32,
}

@group(0) @binding(0) var<storage, read> dy: array<Columns>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> d_table: array<Columns>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let n = params.cols / COLUMNS;
    let i = linear_index(gid, groups, WG);
    if (i >= params.vocabulary * n) {
        return;
    }
    let token = i / n;
    let c = i - token * n;
    let first = starts[token];
    let end = min(starts[token + 1u], params.rows);
    let adds = adds_to_output(params.accumulate, step.micro);
    // Most tokens of a large vocabulary are not in a batch.
    if (adds && first >= end) {
        return;
    }
    var sum = Columns(0.0);
    for (var at = first; at < end; at++) {
        sum += dy[order[at] * n + c];
    }
    if (adds) {
        sum = d_table[i] + sum;
    }
    d_table[i] = sum;
}
