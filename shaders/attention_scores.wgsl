// Scores of causal attention: s[h, t, key] = scale * dot(q[t], k[key]) for key <= t, exactly 0 elsewhere.
//
// Shapes: qkv is [batch * context, 3 * width] with width = heads * head_dim: queries, keys and values, each with its heads
// side by side. s is [batch * heads, context, context]. scale = 1 / sqrt(head_dim).
// Reads qkv, writes s. Vaswani et al., "Attention Is All You Need", arXiv:1706.03762.
//
// Plain: any size, one invocation per score, batch * heads * context * context of them.
// Variant vec4: head_dim and context must be multiples of 4. One invocation per 8x8 scores of one head,
// batch * heads * ceil(context / 8)^2 of them: 16 vec4f loads for 256 multiplications. Neighbouring invocations take the
// same tile of different heads, so that tiles above the diagonal, which are only set to 0, come together.

import package::lib::heads::{Shape, score_scale, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::tile::{Quads, Tile, add_dots};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read_write> s: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read_write> s: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Shape;

@if(!vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let key = i % params.context;
    let t = (i / params.context) % params.context;
    let bh = i / params.context / params.context;
    if (bh >= params.batch * params.heads) {
        return;
    }
    let stride = 3u * params.heads * params.head_dim;
    let q = third_at(params, bh, 0u) + t * stride;
    let k = third_at(params, bh, 1u) + key * stride;
    var sum = 0.0;
    if (key <= t) {
        for (var c = 0u; c < params.head_dim; c++) {
            sum += qkv[q + c] * qkv[k + c];
        }
    }
    s[i] = score_scale(params) * sum;
}

// Four columns of eight rows from row t on. Rows past the end repeat the last one; what comes of them is not stored.
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
fn store(bh: u32, t: u32, key: u32, low: vec4f, high: vec4f) {
    if (t >= params.context) {
        return;
    }
    let at = ((bh * params.context + t) * params.context + key) / 4u;
    let keys = vec4u(key) + vec4u(0u, 1u, 2u, 3u);
    let scale = score_scale(params);
    s[at] = select(vec4f(0.0), scale * low, keys <= vec4u(t));
    if (key + 4u < params.context) {
        s[at + 1u] = select(vec4f(0.0), scale * high, keys + 4u <= vec4u(t));
    }
}

@if(vec4)
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let all_heads = params.batch * params.heads;
    let side = (params.context + 7u) / 8u;
    let bh = i % all_heads;
    let key = 8u * ((i / all_heads) % side);
    let t = 8u * (i / all_heads / side);
    if (t >= params.context) {
        return;
    }
    var sums: Tile;
    if (key <= t) {
        let q = third_at(params, bh, 0u) / 4u;
        let k = third_at(params, bh, 1u) / 4u;
        for (var c = 0u; c < params.head_dim / 4u; c++) {
            add_dots(&sums, load(q + c, t), load(k + c, key));
        }
    }
    store(bh, t, key, sums.l0, sums.h0);
    store(bh, t + 1u, key, sums.l1, sums.h1);
    store(bh, t + 2u, key, sums.l2, sums.h2);
    store(bh, t + 3u, key, sums.l3, sums.h3);
    store(bh, t + 4u, key, sums.l4, sums.h4);
    store(bh, t + 5u, key, sums.l5, sums.h5);
    store(bh, t + 6u, key, sums.l6, sums.h6);
    store(bh, t + 7u, key, sums.l7, sums.h7);
}
