// Matrix product in registers: C[i, j] = sum over p of A[i, p] * B[p, j]. The rung for adapters that are a CPU, where
// a barrier is slow and a load instruction costs more than a multiplication.
//
// Variants nn, tn, nt, tt say whether A and B are stored transposed: n is A [m, k] or B [k, n], t is A [k, m] or
// B [n, k], always rows one after another. C is [m, n]. A dispatch computes `rows` rows of C from row0 on.
// Reads A and B (and C where it adds), writes C. accumulate: 0 overwrites C, 1 overwrites it in the first micro-batch
// of a window and adds in the others, 2 always adds.
//
// All three are read as vec4f, so the length of their stored rows must be a multiple of 4:
//   nn: n and k;   tn: n, m and row0;   nt: n and k;   tt: n, k, m and row0.
// The other sizes are free; anything else needs another rung.
//
// One invocation computes 8 rows by 8 columns of C in sixteen vec4f, four steps of k at a time, and a workgroup of
// 8x8 invocations covers 64x64. No workgroup memory, no barrier.
// Cost: 16 vec4f loads for 256 multiplications, against 512 loads on the naive rung.

import package::lib::accumulate::adds_to_output;
import package::lib::block::{Block, Sums, add_outer, turned};
import package::lib::step::Step;

override SIDE: u32 = 8u;

struct Params {
    m: u32,
    n: u32,
    k: u32,
    row0: u32,   // first row of C in this dispatch
    rows: u32,   // rows of C in this dispatch
    accumulate: u32,
}

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;
@group(1) @binding(1) var<uniform> step: Step;

// A block of A has one step of k and four rows in each vector, one of B one step of k and four columns.

// Four rows of A from row i, for the four steps of k from p. Rows past the end repeat the last one; they are not stored.
@if(nn || nt)
fn load_a(i: u32, p: u32) -> Block {
    let last = params.m - 1u;
    let quads = params.k / 4u;
    let q = p / 4u;
    return turned(Block(a[min(i, last) * quads + q], a[min(i + 1u, last) * quads + q],
                        a[min(i + 2u, last) * quads + q], a[min(i + 3u, last) * quads + q]));
}

@if(tn || tt)
fn load_a(i: u32, p: u32) -> Block {
    let quads = params.m / 4u;
    let q = min(i / 4u, quads - 1u);
    return Block(a_step(p, q, quads), a_step(p + 1u, q, quads), a_step(p + 2u, q, quads), a_step(p + 3u, q, quads));
}

// Steps past the end are 0. In tn k may be any number; in tt the comparison never fails, as k is a multiple of 4.
@if(tn || tt)
fn a_step(p: u32, q: u32, quads: u32) -> vec4f {
    return select(vec4f(0.0), a[min(p, params.k - 1u) * quads + q], p < params.k);
}

// Four columns of B from column j, for the four steps of k from p. Steps past the end repeat the last one.
@if(nn || tn)
fn load_b(p: u32, j: u32) -> Block {
    let last = params.k - 1u;
    let quads = params.n / 4u;
    let q = min(j / 4u, quads - 1u);
    return Block(b[min(p, last) * quads + q], b[min(p + 1u, last) * quads + q],
                 b[min(p + 2u, last) * quads + q], b[min(p + 3u, last) * quads + q]);
}

@if(nt || tt)
fn load_b(p: u32, j: u32) -> Block {
    let quads = params.k / 4u;
    let q = p / 4u;
    let column = min(j, params.n - 4u);
    return turned(Block(b[column * quads + q], b[(column + 1u) * quads + q],
                        b[(column + 2u) * quads + q], b[(column + 3u) * quads + q]));
}

fn store(r: u32, j: u32, left: vec4f, right: vec4f) {
    let i = params.row0 + r;
    if (r >= params.rows || i >= params.m) {
        return;
    }
    let adds = adds_to_output(params.accumulate, step.micro);
    let at = (i * params.n + j) / 4u;
    c[at] = select(left, c[at] + left, adds);
    if (j + 4u < params.n) {
        c[at + 1u] = select(right, c[at + 1u] + right, adds);
    }
}

@compute @workgroup_size(SIDE, SIDE)
fn main(@builtin(global_invocation_id) gid: vec3u) {
    let r = 8u * gid.y;
    let i = params.row0 + r;
    let j = 8u * gid.x;
    if (r >= params.rows || i >= params.m || j >= params.n) {
        return;
    }
    var sums: Sums;
    for (var p = 0u; p < params.k; p += 4u) {
        let upper = load_a(i, p);
        let lower = load_a(i + 4u, p);
        let left = load_b(p, j);
        let right = load_b(p, j + 4u);
        add_outer(&sums, upper.p0, lower.p0, left.p0, right.p0);
        add_outer(&sums, upper.p1, lower.p1, left.p1, right.p1);
        add_outer(&sums, upper.p2, lower.p2, left.p2, right.p2);
        add_outer(&sums, upper.p3, lower.p3, left.p3, right.p3);
    }
    store(r, j, sums.r0, sums.s0);
    store(r + 1u, j, sums.r1, sums.s1);
    store(r + 2u, j, sums.r2, sums.s2);
    store(r + 3u, j, sums.r3, sums.s3);
    store(r + 4u, j, sums.r4, sums.s4);
    store(r + 5u, j, sums.r5, sums.s5);
    store(r + 6u, j, sums.r6, sums.s6);
    store(r + 7u, j, sums.r7, sums.s7);
}
