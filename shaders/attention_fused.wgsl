// Causal attention without a context x context tensor: o[t] = sum over key <= t of p[t, key] * v[key], where p[t] is the
// softmax of scale * dot(q[t], k[key]); and lse[h, t], the log of the sum of exp of these scores, for the backward pass.
//
// Shapes: qkv is [batch * context, 3 * width] with width = heads * head_dim: queries, keys and values, each with its heads
// side by side. o is [batch * context, width], lse is [batch * heads, context]. scale = 1 / sqrt(head_dim).
// Reads qkv, writes o and lse. Dao, "FlashAttention-2", arXiv:2307.08691.
//
// The softmax is built up while the keys pass by: when a larger score comes, what has been summed so far shrinks by
// exp(old largest - new largest). The sums of o are kept in o itself.
//
// Plain: any size, one invocation per query, batch * heads * context of them.
// Variant vec4: head_dim must be a multiple of 4. One invocation per 8 queries, batch * heads * ceil(context / 8) of them;
// 8 keys at a time. Neighbouring invocations take the same rows of different heads, so that their loops are equally long,
// and the longest come first.

import package::lib::heads::{Shape, output_at, score_scale, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::attention_tile::{probabilities, sees};
@if(vec4) import package::lib::tile::{Quads, Tile, add_dots, flipped, weighted};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read_write> o: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read_write> o: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32>;
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
    let out = output_at(params, bh) + t * width;
    var largest = 0.0;
    var sum = 0.0;
    for (var key = 0u; key <= t; key++) {
        let k = third_at(params, bh, 1u) + key * 3u * width;
        let v = third_at(params, bh, 2u) + key * 3u * width;
        var product = 0.0;
        for (var c = 0u; c < params.head_dim; c++) {
            product += qkv[q + c] * qkv[k + c];
        }
        let score = score_scale(params) * product;
        let next = select(max(largest, score), score, key == 0u);
        let shrink = exp(largest - next);
        let p = exp(score - next);
        sum = select(shrink * sum, 0.0, key == 0u) + p;
        largest = next;
        for (var c = 0u; c < params.head_dim; c++) {
            o[out + c] = select(shrink * o[out + c], 0.0, key == 0u) + p * qkv[v + c];
        }
    }
    for (var c = 0u; c < params.head_dim; c++) {
        o[out + c] /= sum;
    }
    lse[i] = largest + log(sum);
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

// The larger of four queries' largest score so far and their score at one key.
@if(vec4)
fn raised(largest: vec4f, products: vec4f, key: u32, t: u32) -> vec4f {
    return select(largest, max(largest, score_scale(params) * products), sees(params, key, t));
}

@if(vec4)
fn add_values(at: u32, t: u32, low: vec4f, high: vec4f, v: Quads, shrink: f32, is_first: bool) {
    if (t < params.context) {
        let i = at + t * params.heads * params.head_dim / 4u;
        o[i] = weighted(low, high, v) + select(shrink * o[i], vec4f(0.0), is_first);
    }
}

@if(vec4)
fn finish(bh: u32, t: u32, largest: f32, sum: f32) {
    if (t >= params.context) {
        return;
    }
    let at = (output_at(params, bh) + t * params.heads * params.head_dim) / 4u;
    for (var c = 0u; c < params.head_dim / 4u; c++) {
        o[at + c] /= sum;
    }
    lse[bh * params.context + t] = largest + log(sum);
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
    let out = output_at(params, bh) / 4u;
    // Of queries t to t + 3, and t + 4 to t + 7. Every query sees key 0, so the first eight keys leave a real score here.
    var largest_low = vec4f(-3.0e38);
    var largest_high = vec4f(-3.0e38);
    var sum_low = vec4f(0.0);
    var sum_high = vec4f(0.0);
    for (var key = 0u; key <= t; key += 8u) {
        var x: Tile;
        for (var c = 0u; c < quads; c++) {
            add_dots(&x, load(k + c, key), load(q + c, t));
        }
        var low = raised(raised(largest_low, x.l0, key, t), x.l1, key + 1u, t);
        low = raised(raised(low, x.l2, key + 2u, t), x.l3, key + 3u, t);
        low = raised(raised(low, x.l4, key + 4u, t), x.l5, key + 5u, t);
        low = raised(raised(low, x.l6, key + 6u, t), x.l7, key + 7u, t);
        let u = t + 4u;
        var high = raised(raised(largest_high, x.h0, key, u), x.h1, key + 1u, u);
        high = raised(raised(high, x.h2, key + 2u, u), x.h3, key + 3u, u);
        high = raised(raised(high, x.h4, key + 4u, u), x.h5, key + 5u, u);
        high = raised(raised(high, x.h6, key + 6u, u), x.h7, key + 7u, u);
        let shrink_low = exp(largest_low - low);
        let shrink_high = exp(largest_high - high);
        largest_low = low;
        largest_high = high;

        let e = probabilities(params, x, key, t, low, high);
        sum_low = shrink_low * sum_low + (((e.l0 + e.l1) + (e.l2 + e.l3)) + ((e.l4 + e.l5) + (e.l6 + e.l7)));
        sum_high = shrink_high * sum_high + (((e.h0 + e.h1) + (e.h2 + e.h3)) + ((e.h4 + e.h5) + (e.h6 + e.h7)));
        let p = flipped(e);
        for (var c = 0u; c < quads; c++) {
            let values = load(v + c, key);
            let is_first = key == 0u;
            add_values(out + c, t, p.l0, p.h0, values, shrink_low.x, is_first);
            add_values(out + c, t + 1u, p.l1, p.h1, values, shrink_low.y, is_first);
            add_values(out + c, t + 2u, p.l2, p.h2, values, shrink_low.z, is_first);
            add_values(out + c, t + 3u, p.l3, p.h3, values, shrink_low.w, is_first);
            add_values(out + c, t + 4u, p.l4, p.h4, values, shrink_high.x, is_first);
            add_values(out + c, t + 5u, p.l5, p.h5, values, shrink_high.y, is_first);
            add_values(out + c, t + 6u, p.l6, p.h6, values, shrink_high.z, is_first);
            add_values(out + c, t + 7u, p.l7, p.h7, values, shrink_high.w, is_first);
        }
    }
    finish(bh, t, largest_low.x, sum_low.x);
    finish(bh, t + 1u, largest_low.y, sum_low.y);
    finish(bh, t + 2u, largest_low.z, sum_low.z);
    finish(bh, t + 3u, largest_low.w, sum_low.w);
    finish(bh, t + 4u, largest_high.x, sum_high.x);
    finish(bh, t + 5u, largest_high.y, sum_high.y);
    finish(bh, t + 6u, largest_high.z, sum_high.z);
    finish(bh, t + 7u, largest_high.w, sum_high.w);
}
