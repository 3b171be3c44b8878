// Matrix product, first rung of the ladder: C[i, j] = sum over p of A[i, p] * B[p, j].
//
// Shapes: A is [m, k], B is [k, n], both with any strides (in elements), so a transpose costs no copy; C is [m, n],
// rows one after another. A dispatch computes `rows` rows of C from row0 on.
// Reads A and B (and C where it adds), writes C. accumulate: 0 overwrites C, 1 overwrites it in the first micro-batch
// of a window and adds in the others, 2 always adds.
//
// One invocation computes one element of C; a workgroup covers 8x8 of them.
// Cost: two loads for every multiplication, 2 * m * n * k loads in all. The next rungs load less.

import package::lib::accumulate::adds_to_output;
import package::lib::step::Step;

override SIDE: u32 = 8u;

struct Params {
    m: u32,
    n: u32,
    k: u32,
    a_row: u32,  // elements from one row of A to the next
    a_col: u32,
    b_row: u32,
    b_col: u32,
    row0: u32,   // first row of C in this dispatch
    rows: u32,   // rows of C in this dispatch
    accumulate: u32,
}

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

@compute @workgroup_size(SIDE, SIDE)
fn main(@builtin(global_invocation_id) gid: vec3u) {
    let i = params.row0 + gid.y;
    let j = gid.x;
    if (gid.y >= params.rows || i >= params.m || j >= params.n) {
        return;
    }
    var sum = 0.0;
    for (var p = 0u; p < params.k; p++) {
        sum += a[i * params.a_row + p * params.a_col] * b[p * params.b_row + j * params.b_col];
    }
    let at = i * params.n + j;
    c[at] = select(sum, c[at] + sum, adds_to_output(params.accumulate, step.micro));
}
