// Matrix product by tiles in workgroup memory: C[i, j] = sum over p of A[i, p] * B[p, j]. The rung for GPUs.
//
// Shapes: A is [m, k], B is [k, n], both with any strides (in elements), so a transpose costs no copy; C is [m, n],
// rows one after another. Any sizes. A dispatch computes `rows` rows of C from row0 on.
// Reads A and B (and C where it adds), writes C. accumulate: 0 overwrites C, 1 overwrites it in the first micro-batch
// of a window and adds in the others, 2 always adds.
//
// A workgroup of 16x8 invocations computes a 64x64 tile of C, 16 steps of k at a time: all of them together copy a
// 64x16 block of A and a 16x64 block of B into workgroup memory, wait, and multiply from there. One invocation computes
// 8 rows by 4 columns of C, in eight vec4f that stay in registers.
// Cost: every element of A and B is loaded m / 64 and n / 64 times, not m and n times. Workgroup memory: 8.5 KiB.

import package::lib::accumulate::adds_to_output;
import package::lib::step::Step;

const TILE: u32 = 64u;       // rows and columns of C per workgroup
const TILE_K: u32 = 16u;     // steps of k per round
const ACROSS: u32 = 16u;     // invocations side by side, 4 columns each
const DOWN: u32 = 8u;        // invocations one below the other, 8 rows each
const QUADS: u32 = TILE / 4u;
// One vec4f of padding per step of k: writes down a column then fall into different memory banks.
const PITCH: u32 = QUADS + 1u;
const BLOCK: u32 = QUADS * TILE_K;

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

// Both blocks lie k-major: a_tile[p * PITCH + q] holds the rows 4q to 4q+3 of A, b_tile the columns 4q to 4q+3 of B.
var<workgroup> a_tile: array<vec4f, PITCH * TILE_K>;
var<workgroup> b_tile: array<vec4f, PITCH * TILE_K>;

fn a_at(i: u32, p: u32) -> f32 {
    if (i < params.m && p < params.k) {
        return a[i * params.a_row + p * params.a_col];
    }
    return 0.0;
}

fn b_at(p: u32, j: u32) -> f32 {
    if (p < params.k && j < params.n) {
        return b[p * params.b_row + j * params.b_col];
    }
    return 0.0;
}

// The (step of k, quad of rows or columns) that an invocation copies: neighbours go along the side whose elements
// lie next to each other in memory, so that a group of invocations reads whole cache lines.
fn slot(index: u32, along_k: bool) -> vec2u {
    if (along_k) {
        return vec2u(index % TILE_K, index / TILE_K);
    }
    return vec2u(index / QUADS, index % QUADS);
}

fn load_tiles(lane: u32, i0: u32, j0: u32, p0: u32) {
    for (var index = lane; index < BLOCK; index += ACROSS * DOWN) {
        let at_a = slot(index, params.a_col == 1u);
        let p = p0 + at_a.x;
        let i = i0 + 4u * at_a.y;
        a_tile[at_a.x * PITCH + at_a.y] = vec4f(a_at(i, p), a_at(i + 1u, p), a_at(i + 2u, p), a_at(i + 3u, p));

        let at_b = slot(index, params.b_row == 1u && params.b_col != 1u);
        let pb = p0 + at_b.x;
        let j = j0 + 4u * at_b.y;
        b_tile[at_b.x * PITCH + at_b.y] = vec4f(b_at(pb, j), b_at(pb, j + 1u), b_at(pb, j + 2u), b_at(pb, j + 3u));
    }
}

fn store(r: u32, j: u32, sum: f32) {
    let i = params.row0 + r;
    if (r < params.rows && i < params.m && j < params.n) {
        let at = i * params.n + j;
        c[at] = select(sum, c[at] + sum, adds_to_output(params.accumulate, step.micro));
    }
}

fn store4(r: u32, j: u32, sums: vec4f) {
    store(r, j, sums.x);
    store(r, j + 1u, sums.y);
    store(r, j + 2u, sums.z);
    store(r, j + 3u, sums.w);
}

@compute @workgroup_size(ACROSS, DOWN)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    let r0 = group.y * TILE;
    let j0 = group.x * TILE;
    // Named variables, not an array: an array indexed in a loop may be put in memory instead of registers.
    var c0 = vec4f(0.0);
    var c1 = vec4f(0.0);
    var c2 = vec4f(0.0);
    var c3 = vec4f(0.0);
    var c4 = vec4f(0.0);
    var c5 = vec4f(0.0);
    var c6 = vec4f(0.0);
    var c7 = vec4f(0.0);
    for (var p0 = 0u; p0 < params.k; p0 += TILE_K) {
        load_tiles(lane, params.row0 + r0, j0, p0);
        workgroupBarrier();
        for (var p = 0u; p < TILE_K; p++) {
            let b4 = b_tile[p * PITCH + at.x];
            let upper = a_tile[p * PITCH + 2u * at.y];
            let lower = a_tile[p * PITCH + 2u * at.y + 1u];
            c0 += upper.x * b4;
            c1 += upper.y * b4;
            c2 += upper.z * b4;
            c3 += upper.w * b4;
            c4 += lower.x * b4;
            c5 += lower.y * b4;
            c6 += lower.z * b4;
            c7 += lower.w * b4;
        }
        // Nobody may overwrite a block that another invocation still reads.
        workgroupBarrier();
    }
    let r = r0 + 8u * at.y;
    let j = j0 + 4u * at.x;
    store4(r, j, c0);
    store4(r + 1u, j, c1);
    store4(r + 2u, j, c2);
    store4(r + 3u, j, c3);
    store4(r + 4u, j, c4);
    store4(r + 5u, j, c5);
    store4(r + 6u, j, c6);
    store4(r + 7u, j, c7);
}
