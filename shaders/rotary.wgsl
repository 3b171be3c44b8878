// Rotary positions: turns each pair of columns (i, j = i + head_dim / 2) of every query and key by the angle of its position:
// y_i = x_i * cos - x_j * sin,   y_j = x_j * cos + x_i * sin; values are copied. inverse = 1 turns back, which is the
// backward pass: dx from dy.
//
// Shapes: x and y are [rows, 3 * heads * head_dim], row r stands at position r % context; head_dim is even.
// table is [context, head_dim]: the cosine of pair i at column 2 i, its sine at 2 i + 1.
// Reads x and table, writes y. Variant in_place: reads table, reads and writes y; values are not touched.
// Su et al., "RoFormer", arXiv:2104.09864, with the pairs of GPT-NeoX.
//
// One invocation turns one pair of a query and of the key beside it: rows * heads * head_dim / 2 of them.

import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    rows: u32,
    context: u32,
    heads: u32,
    head_dim: u32,
    inverse: u32,
}

@if(!in_place) @group(0) @binding(0) var<storage, read> x: array<f32>;
@if(!in_place) @group(0) @binding(1) var<storage, read> table: array<vec2f>;
@if(!in_place) @group(0) @binding(2) var<storage, read_write> y: array<f32>;
@if(in_place) @group(0) @binding(0) var<storage, read> table: array<vec2f>;
@if(in_place) @group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

fn old(i: u32) -> f32 {
    @if(!in_place) return x[i];
    @if(in_place) return y[i];
}

fn turn(i: u32, j: u32, angle: vec2f) {
    let a = old(i);
    let b = old(j);
    y[i] = a * angle.x - b * angle.y;
    y[j] = b * angle.x + a * angle.y;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let n = linear_index(gid, groups, WG);
    let half = params.head_dim / 2u;
    let pair = n % half;
    let head = (n / half) % params.heads;
    let r = n / half / params.heads;
    if (r >= params.rows) {
        return;
    }
    var angle = table[(r % params.context) * half + pair];
    angle.y = select(angle.y, -angle.y, params.inverse == 1u);
    let width = params.heads * params.head_dim;
    let q = r * 3u * width + head * params.head_dim + pair;
    turn(q, q + half, angle);
    turn(q + width, q + width + half, angle);
    @if(!in_place) {
        y[q + 2u * width] = x[q + 2u * width];
        y[q + 2u * width + half] = x[q + 2u * width + half];
    }
}
