// Output of attention: o[t] = sum over key <= t of p[h, t, key] * v[key], for each head.
//
// Shapes: p is [batch * heads, context, context]; qkv is [batch * context, 3 * width] with width = heads * head_dim, its
// values in the last third; o is [batch * context, width].
// Reads p and qkv, writes o.
//
// Plain: any size, one invocation per element of o, batch * heads * context * head_dim of them.
// Variant vec4: head_dim and context must be multiples of 4. One invocation per 8 rows and 8 columns of one head,
// batch * heads * ceil(context / 8) * ceil(head_dim / 8) of them: 32 vec4f loads for 512 multiplications. Neighbouring
// invocations take the same rows of different heads, so that their loops are equally long.

import package::lib::heads::{Shape, output_at, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::tile::{Quads, Tile, add_product};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> p: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> o: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> p: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> o: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Shape;

@if(!vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let c = i % params.head_dim;
    let t = (i / params.head_dim) % params.context;
    let bh = i / params.head_dim / params.context;
    if (bh >= params.batch * params.heads) {
        return;
    }
    let width = params.heads * params.head_dim;
    let v = third_at(params, bh, 2u) + c;
    let row = (bh * params.context + t) * params.context;
    var sum = 0.0;
    for (var key = 0u; key <= t; key++) {
        sum += p[row + key] * qkv[v + key * 3u * width];
    }
    o[output_at(params, bh) + t * width + c] = sum;
}

// Four columns of eight values from row t on. Rows past the end repeat the last one; their weight is 0.
@if(vec4)
fn load(at: u32, t: u32) -> Quads {
    let stride = 3u * params.heads * params.head_dim / 4u;
    let last = params.context - 1u;
    return Quads(qkv[at + min(t, last) * stride], qkv[at + min(t + 1u, last) * stride],
                 qkv[at + min(t + 2u, last) * stride], qkv[at + min(t + 3u, last) * stride],
                 qkv[at + min(t + 4u, last) * stride], qkv[at + min(t + 5u, last) * stride],
                 qkv[at + min(t + 6u, last) * stride], qkv[at + min(t + 7u, last) * stride]);
}

// Probabilities of eight queries from t on and eight keys. Queries past the end repeat the last one and are not stored.
@if(vec4)
fn load_p(bh: u32, t: u32, key: u32) -> Tile {
    let quads = params.context / 4u;
    let last = params.context - 1u;
    let at = bh * params.context * quads + key / 4u;
    let r0 = at + min(t, last) * quads;
    let r1 = at + min(t + 1u, last) * quads;
    let r2 = at + min(t + 2u, last) * quads;
    let r3 = at + min(t + 3u, last) * quads;
    let r4 = at + min(t + 4u, last) * quads;
    let r5 = at + min(t + 5u, last) * quads;
    let r6 = at + min(t + 6u, last) * quads;
    let r7 = at + min(t + 7u, last) * quads;
    // The last four keys of the last tile may not exist.
    let right = select(0.0, 1.0, key + 4u < params.context);
    let next = u32(right);
    return Tile(p[r0], p[r1], p[r2], p[r3], p[r4], p[r5], p[r6], p[r7],
                right * p[r0 + next], right * p[r1 + next], right * p[r2 + next], right * p[r3 + next],
                right * p[r4 + next], right * p[r5 + next], right * p[r6 + next], right * p[r7 + next]);
}

@if(vec4)
fn store(at: u32, t: u32, left: vec4f, right: vec4f, has_right: bool) {
    if (t >= params.context) {
        return;
    }
    let i = at + t * params.heads * params.head_dim / 4u;
    o[i] = left;
    if (has_right) {
        o[i + 1u] = right;
    }
}

@if(vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let all_heads = params.batch * params.heads;
    let sides = (params.head_dim + 7u) / 8u;
    let bh = i % all_heads;
    let c = 8u * ((i / all_heads) % sides);
    let t = 8u * (i / all_heads / sides);
    if (t >= params.context) {
        return;
    }
    let has_right = c + 4u < params.head_dim;
    let v = (third_at(params, bh, 2u) + c) / 4u;
    var sums: Tile;
    for (var key = 0u; key <= t; key += 8u) {
        add_product(&sums, load_p(bh, t, key), load(v, key), load(v + u32(has_right), key));
    }
    let at = (output_at(params, bh) + c) / 4u;
    store(at, t, sums.l0, sums.h0, has_right);
    store(at, t + 1u, sums.l1, sums.h1, has_right);
    store(at, t + 2u, sums.l2, sums.h2, has_right);
    store(at, t + 3u, sums.l3, sums.h3, has_right);
    store(at, t + 4u, sums.l4, sums.h4, has_right);
    store(at, t + 5u, sums.l5, sums.h5, has_right);
    store(at, t + 6u, sums.l6, sums.h6, has_right);
    store(at, t + 7u, sums.l7, sums.h7, has_right);
}
