// Backward of attention_fused for the queries: dq[t] = scale * sum over key <= t of ds[t, key] * k[key], where
// ds = p * (dp - delta[t]), p = exp(scale * dot(q[t], k[key]) - lse[t]) and dp = dot(d_o[t], v[key]).
//
// Shapes: qkv and d_qkv are [batch * context, 3 * width] with width = heads * head_dim; d_o is [batch * context, width];
// lse (from attention_fused) and delta (from attention_delta) are [batch * heads, context]. scale = 1 / sqrt(head_dim).
// Reads qkv, d_o, lse and delta, writes the first third of the columns of d_qkv and leaves the others as they are.
// Dao, "FlashAttention-2", arXiv:2307.08691; a pass of its own needs no atomic addition, so sums have one order.
//
// Plain: any size, one invocation per query, batch * heads * context of them.
// Variant vec4: head_dim must be a multiple of 4. One invocation per 8 queries, batch * heads * ceil(context / 8) of them;
// 8 keys at a time. Neighbouring invocations take the same rows of different heads, so that their loops are equally long,
// and the longest come first. The sums of dq are kept in d_qkv itself.

import package::lib::heads::{Shape, output_at, score_scale, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::attention_tile::{probabilities, product_grads};
@if(vec4) import package::lib::tile::{Quads, Tile, add_dots, flipped, weighted};

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
    let t = i % params.context;
    let bh = i / params.context;
    if (bh >= params.batch * params.heads) {
        return;
    }
    let width = params.heads * params.head_dim;
    let q = third_at(params, bh, 0u) + t * 3u * width;
    let d = output_at(params, bh) + t * width;
    let scale = score_scale(params);
    for (var key = 0u; key <= t; key++) {
        let k = third_at(params, bh, 1u) + key * 3u * width;
        let v = third_at(params, bh, 2u) + key * 3u * width;
        var product = 0.0;
        var dp = 0.0;
        for (var c = 0u; c < params.head_dim; c++) {
            product += qkv[q + c] * qkv[k + c];
            dp += d_o[d + c] * qkv[v + c];
        }
        let weight = scale * exp(scale * product - lse[i]) * (dp - delta[i]);
        for (var c = 0u; c < params.head_dim; c++) {
            d_qkv[q + c] = select(d_qkv[q + c], 0.0, key == 0u) + weight * qkv[k + c];
        }
    }
}

// Four columns of eight rows from row t on. Rows past the end repeat the last one; as keys they weigh 0, as queries they
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

@if(vec4)
fn add_keys(at: u32, t: u32, low: vec4f, high: vec4f, keys: Quads, is_first: bool) {
    if (t < params.context) {
        let i = at + t * 3u * params.heads * params.head_dim / 4u;
        d_qkv[i] = weighted(low, high, keys) + select(d_qkv[i], vec4f(0.0), is_first);
    }
}

@if(vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let all_heads = params.batch * params.heads;
    let tiles = (params.context + 7u) / 8u;
    if (i >= all_heads * tiles) {
        return;
    }
    let bh = i % all_heads;
    let t = 8u * (tiles - 1u - i / all_heads);
    let quads = params.head_dim / 4u;
    let q = third_at(params, bh, 0u) / 4u;
    let k = third_at(params, bh, 1u) / 4u;
    let v = third_at(params, bh, 2u) / 4u;
    let d = output_at(params, bh) / 4u;
    let lse_low = load_lse(bh, t);
    let lse_high = load_lse(bh, t + 4u);
    let delta_low = load_delta(bh, t);
    let delta_high = load_delta(bh, t + 4u);
    for (var key = 0u; key <= t; key += 8u) {
        var x: Tile;
        var dp: Tile;
        for (var c = 0u; c < quads; c++) {
            add_dots(&x, load(k + c, key), load(q + c, t));
            add_dots(&dp, load(v + c, key), load_d(d + c, t));
        }
        let p = probabilities(params, x, key, t, lse_low, lse_high);
        let w = flipped(product_grads(params, p, dp, delta_low, delta_high));
        for (var c = 0u; c < quads; c++) {
            let keys = load(k + c, key);
            let is_first = key == 0u;
            add_keys(q + c, t, w.l0, w.h0, keys, is_first);
            add_keys(q + c, t + 1u, w.l1, w.h1, keys, is_first);
            add_keys(q + c, t + 2u, w.l2, w.h2, keys, is_first);
            add_keys(q + c, t + 3u, w.l3, w.h3, keys, is_first);
            add_keys(q + c, t + 4u, w.l4, w.h4, keys, is_first);
            add_keys(q + c, t + 5u, w.l5, w.h5, keys, is_first);
            add_keys(q + c, t + 6u, w.l6, w.h6, keys, is_first);
            add_keys(q + c, t + 7u, w.l7, w.h7, keys, is_first);
        }
    }
}
