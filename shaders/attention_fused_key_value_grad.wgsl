// Backward of attention_fused for keys and values: dk[key] = scale * sum over t >= key of ds[t, key] * q[t] and
// dv[key] = sum over t >= key of p[t, key] * d_o[t], where p = exp(scale * dot(q[t], k[key]) - lse[t]),
// ds = p * (dp - delta[t]) and dp = dot(d_o[t], v[key]).
//
// Shapes: qkv and d_qkv are [batch * context, 3 * width] with width = heads * head_dim; d_o is [batch * context, width];
// lse (from attention_fused) and delta (from attention_delta) are [batch * heads, context]. scale = 1 / sqrt(head_dim).
// Reads qkv, d_o, lse and delta, writes the last two thirds of the columns of d_qkv and leaves the first as it is.
// Dao, "FlashAttention-2", arXiv:2307.08691; a pass of its own needs no atomic addition, so sums have one order.
//
// Plain: any size, one invocation per key, batch * heads * context of them.
// Variant vec4: head_dim must be a multiple of 4. One invocation per 8 keys, batch * heads * ceil(context / 8) of them;
// 8 queries at a time. Neighbouring invocations take the same rows of different heads, so that their loops are equally
// long, and the longest come first. The sums of dk and dv are kept in d_qkv itself.

import package::lib::heads::{Shape, output_at, score_scale, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::attention_tile::{probabilities, product_grads};
@if(vec4) import package::lib::tile::{Quads, Tile, add_dots, weighted};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> d_o: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> d_o: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> delta: array<f32>;
@if(!vec4) @group(0) @binding(4) var<storage, read_write> d_qkv: array<f32>;
@if(vec4) @group(0) @binding(4) var<storage, read_write> d_qkv: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Shape;

@if(!vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let key = i % params.context;
    let bh = i / params.context;
    if (bh >= params.batch * params.heads) {
        return;
    }
    let width = params.heads * params.head_dim;
    let k = third_at(params, bh, 1u) + key * 3u * width;
    let v = third_at(params, bh, 2u) + key * 3u * width;
    let scale = score_scale(params);
    for (var t = key; t < params.context; t++) {
        let q = third_at(params, bh, 0u) + t * 3u * width;
        let d = output_at(params, bh) + t * width;
        var product = 0.0;
        var dp = 0.0;
        for (var c = 0u; c < params.head_dim; c++) {
            product += qkv[q + c] * qkv[k + c];
            dp += d_o[d + c] * qkv[v + c];
        }
        let row = bh * params.context + t;
        let p = exp(scale * product - lse[row]);
        let weight = scale * p * (dp - delta[row]);
        for (var c = 0u; c < params.head_dim; c++) {
            d_qkv[k + c] = select(d_qkv[k + c], 0.0, t == key) + weight * qkv[q + c];
            d_qkv[v + c] = select(d_qkv[v + c], 0.0, t == key) + p * d_o[d + c];
        }
    }
}

// Four columns of eight rows from row t on. Rows past the end repeat the last one; as queries they weigh 0, as keys they
// are not stored.
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

// lse and delta of four queries from t on.
@if(vec4)
fn load_lse(bh: u32, t: u32) -> vec4f {
    let i = bh * params.context + min(vec4u(t) + vec4u(0u, 1u, 2u, 3u), vec4u(params.context - 1u));
    return vec4f(lse[i.x], lse[i.y], lse[i.z], lse[i.w]);
}

@if(vec4)
fn load_delta(bh: u32, t: u32) -> vec4f {
    let i = bh * params.context + min(vec4u(t) + vec4u(0u, 1u, 2u, 3u), vec4u(params.context - 1u));
    return vec4f(delta[i.x], delta[i.y], delta[i.z], delta[i.w]);
}

// Adds eight rows, weighted, to four columns of the gradient of one key or value.
@if(vec4)
fn add_rows(at: u32, key: u32, low: vec4f, high: vec4f, rows: Quads, is_first: bool) {
    if (key < params.context) {
        let i = at + key * 3u * params.heads * params.head_dim / 4u;
        d_qkv[i] = weighted(low, high, rows) + select(d_qkv[i], vec4f(0.0), is_first);
    }
}

// The same for eight keys or values, one row of weights each.
@if(vec4)
fn add_tile(at: u32, key: u32, w: Tile, rows: Quads, is_first: bool) {
    add_rows(at, key, w.l0, w.h0, rows, is_first);
    add_rows(at, key + 1u, w.l1, w.h1, rows, is_first);
    add_rows(at, key + 2u, w.l2, w.h2, rows, is_first);
    add_rows(at, key + 3u, w.l3, w.h3, rows, is_first);
    add_rows(at, key + 4u, w.l4, w.h4, rows, is_first);
    add_rows(at, key + 5u, w.l5, w.h5, rows, is_first);
    add_rows(at, key + 6u, w.l6, w.h6, rows, is_first);
    add_rows(at, key + 7u, w.l7, w.h7, rows, is_first);
}

@if(vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let all_heads = params.batch * params.heads;
    let bh = i % all_heads;
    let key = 8u * (i / all_heads);
    if (key >= params.context) {
        return;
    }
    let quads = params.head_dim / 4u;
    let q = third_at(params, bh, 0u) / 4u;
    let k = third_at(params, bh, 1u) / 4u;
    let v = third_at(params, bh, 2u) / 4u;
    let d = output_at(params, bh) / 4u;
    for (var t = key; t < params.context; t += 8u) {
        var x: Tile;
        var dp: Tile;
        for (var c = 0u; c < quads; c++) {
            add_dots(&x, load(k + c, key), load(q + c, t));
            add_dots(&dp, load(v + c, key), load_d(d + c, t));
        }
        let p = probabilities(params, x, key, t, load_lse(bh, t), load_lse(bh, t + 4u));
        let w = product_grads(params, p, dp, load_delta(bh, t), load_delta(bh, t + 4u));
        for (var c = 0u; c < quads; c++) {
            add_tile(k + c, key, w, load(q + c, t), t == key);
            add_tile(v + c, key, p, load_d(d + c, t), t == key);
        }
    }
}
