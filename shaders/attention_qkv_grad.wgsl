// Backward of attention_scores and attention_mix for queries, keys and values, for each head:
// dq[t] = scale * sum over key <= t of ds[t, key] * k[key],   dk[key] = scale * sum over t >= key of ds[t, key] * q[t],
// dv[key] = sum over t >= key of p[t, key] * d_o[t].
//
// Shapes: p and ds are [batch * heads, context, context]; qkv and d_qkv are [batch * context, 3 * width] with
// width = heads * head_dim; d_o is [batch * context, width]. scale = 1 / sqrt(head_dim).
// Reads p, ds, qkv and d_o, writes d_qkv. Elements of p and ds past the diagonal must be 0, as their kernels leave them.
//
// Plain: any size, one invocation per element of d_qkv, 3 * batch * heads * context * head_dim of them.
// Variant vec4: head_dim and context must be multiples of 4. One invocation per 8 rows and 8 columns of a third of one
// head, 3 * batch * heads * ceil(context / 8) * ceil(head_dim / 8) of them. Neighbouring invocations take the same rows of
// different heads, so that their loops are equally long.

import package::lib::heads::{Shape, output_at, score_scale, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::tile::{Quads, Tile, add_product, flipped};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> p: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> ds: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(3) var<storage, read> d_o: array<f32>;
@if(!vec4) @group(0) @binding(4) var<storage, read_write> d_qkv: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> p: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> ds: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(3) var<storage, read> d_o: array<vec4f>;
@if(vec4) @group(0) @binding(4) var<storage, read_write> d_qkv: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Shape;

@if(!vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let context = params.context;
    let all_heads = params.batch * params.heads;
    let c = i % params.head_dim;
    let row = (i / params.head_dim) % context;
    let bh = (i / params.head_dim / context) % all_heads;
    let third = i / params.head_dim / context / all_heads;
    if (third >= 3u) {
        return;
    }
    let width = params.heads * params.head_dim;
    let q = third_at(params, bh, 0u) + c;
    let k = third_at(params, bh, 1u) + c;
    let d = output_at(params, bh) + c;
    let weights = bh * context * context;
    let out = third_at(params, bh, third) + row * 3u * width + c;
    var sum = 0.0;
    if (third == 0u) {
        for (var key = 0u; key <= row; key++) {
            sum += ds[weights + row * context + key] * qkv[k + key * 3u * width];
        }
    } else if (third == 1u) {
        for (var t = row; t < context; t++) {
            sum += ds[weights + t * context + row] * qkv[q + t * 3u * width];
        }
    } else {
        for (var t = row; t < context; t++) {
            sum += p[weights + t * context + row] * d_o[d + t * width];
        }
    }
    d_qkv[out] = select(score_scale(params), 1.0, third == 2u) * sum;
}

// Four columns of eight rows of qkv, and of d_o, from row t on. Rows past the end repeat the last one; their weight is 0.
@if(vec4)
fn load(at: u32, t: u32) -> Quads {
    let stride = 3u * params.heads * params.head_dim / 4u;
    let last = params.context - 1u;
    return Quads(qkv[at + min(t, last) * stride], qkv[at + min(t + 1u, last) * stride],
                 qkv[at + min(t + 2u, last) * stride], qkv[at + min(t + 3u, last) * stride],
                 qkv[at + min(t + 4u, last) * stride], qkv[at + min(t + 5u, last) * stride],
                 qkv[at + min(t + 6u, last) * stride], qkv[at + min(t + 7u, last) * stride]);
}

@if(vec4)
fn load_d(at: u32, t: u32) -> Quads {
    let stride = params.heads * params.head_dim / 4u;
    let last = params.context - 1u;
    return Quads(d_o[at + min(t, last) * stride], d_o[at + min(t + 1u, last) * stride],
                 d_o[at + min(t + 2u, last) * stride], d_o[at + min(t + 3u, last) * stride],
                 d_o[at + min(t + 4u, last) * stride], d_o[at + min(t + 5u, last) * stride],
                 d_o[at + min(t + 6u, last) * stride], d_o[at + min(t + 7u, last) * stride]);
}

// Four weights of query t, 0 past either end, and where they stand.
@if(vec4)
fn exists(t: u32, key: u32) -> bool {
    return t < params.context && key < params.context;
}

@if(vec4)
fn weight_at(bh: u32, t: u32, key: u32) -> u32 {
    return ((bh * params.context + min(t, params.context - 1u)) * params.context + min(key, params.context - 4u)) / 4u;
}

@if(vec4)
fn p4(bh: u32, t: u32, key: u32) -> vec4f {
    return select(vec4f(0.0), p[weight_at(bh, t, key)], exists(t, key));
}

@if(vec4)
fn ds4(bh: u32, t: u32, key: u32) -> vec4f {
    return select(vec4f(0.0), ds[weight_at(bh, t, key)], exists(t, key));
}

@if(vec4)
fn load_p(bh: u32, t: u32, key: u32) -> Tile {
    let next = key + 4u;
    return Tile(p4(bh, t, key), p4(bh, t + 1u, key), p4(bh, t + 2u, key), p4(bh, t + 3u, key),
                p4(bh, t + 4u, key), p4(bh, t + 5u, key), p4(bh, t + 6u, key), p4(bh, t + 7u, key),
                p4(bh, t, next), p4(bh, t + 1u, next), p4(bh, t + 2u, next), p4(bh, t + 3u, next),
                p4(bh, t + 4u, next), p4(bh, t + 5u, next), p4(bh, t + 6u, next), p4(bh, t + 7u, next));
}

@if(vec4)
fn load_ds(bh: u32, t: u32, key: u32) -> Tile {
    let next = key + 4u;
    return Tile(ds4(bh, t, key), ds4(bh, t + 1u, key), ds4(bh, t + 2u, key), ds4(bh, t + 3u, key),
                ds4(bh, t + 4u, key), ds4(bh, t + 5u, key), ds4(bh, t + 6u, key), ds4(bh, t + 7u, key),
                ds4(bh, t, next), ds4(bh, t + 1u, next), ds4(bh, t + 2u, next), ds4(bh, t + 3u, next),
                ds4(bh, t + 4u, next), ds4(bh, t + 5u, next), ds4(bh, t + 6u, next), ds4(bh, t + 7u, next));
}

@if(vec4)
fn store(at: u32, row: u32, left: vec4f, right: vec4f, has_right: bool, factor: f32) {
    if (row >= params.context) {
        return;
    }
    let i = at + row * 3u * params.heads * params.head_dim / 4u;
    d_qkv[i] = factor * left;
    if (has_right) {
        d_qkv[i + 1u] = factor * right;
    }
}

@if(vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let all_heads = params.batch * params.heads;
    let sides = (params.head_dim + 7u) / 8u;
    let tiles = (params.context + 7u) / 8u;
    let bh = i % all_heads;
    let c = 8u * ((i / all_heads) % sides);
    let row = 8u * ((i / all_heads / sides) % tiles);
    let third = i / all_heads / sides / tiles;
    if (third >= 3u) {
        return;
    }
    let has_right = c + 4u < params.head_dim;
    let next = u32(has_right);
    let q = (third_at(params, bh, 0u) + c) / 4u;
    let k = (third_at(params, bh, 1u) + c) / 4u;
    let d = (output_at(params, bh) + c) / 4u;
    var sums: Tile;
    if (third == 0u) {
        for (var key = 0u; key <= row; key += 8u) {
            add_product(&sums, load_ds(bh, row, key), load(k, key), load(k + next, key));
        }
    } else if (third == 1u) {
        for (var t = row; t < params.context; t += 8u) {
            add_product(&sums, flipped(load_ds(bh, t, row)), load(q, t), load(q + next, t));
        }
    } else {
        for (var t = row; t < params.context; t += 8u) {
            add_product(&sums, flipped(load_p(bh, t, row)), load_d(d, t), load_d(d + next, t));
        }
    }
    let at = (third_at(params, bh, third) + c) / 4u;
    let factor = select(score_scale(params), 1.0, third == 2u);
    store(at, row, sums.l0, sums.h0, has_right, factor);
    store(at, row + 1u, sums.l1, sums.h1, has_right, factor);
    store(at, row + 2u, sums.l2, sums.h2, has_right, factor);
    store(at, row + 3u, sums.l3, sums.h3, has_right, factor);
    store(at, row + 4u, sums.l4, sums.h4, has_right, factor);
    store(at, row + 5u, sums.l5, sums.h5, has_right, factor);
    store(at, row + 6u, sums.l6, sums.h6, has_right, factor);
    store(at, row + 7u, sums.l7, sums.h7, has_right, factor);
}
