// Backward of attention_mix for the probabilities: dp[h, t, key] = dot(d_o[t], v[key]) for key <= t, exactly 0 elsewhere.
//
// Shapes: d_o is [batch * context, width] with width = heads * head_dim; qkv is [batch * context, 3 * width], its values in
// the last third; dp is [batch * heads, context, context].
// Reads d_o and qkv, writes dp.
//
// Plain: any size, one invocation per element of dp, batch * heads * context * context of them.
// Variant vec4: head_dim and context must be multiples of 4. One invocation per 8x8 elements of one head,
// batch * heads * ceil(context / 8)^2 of them. Neighbouring invocations take the same tile of different heads, so that
// tiles above the diagonal, which are only set to 0, come together.

import package::lib::heads::{Shape, output_at, third_at};
import package::lib::index::linear_index;
@if(vec4) import package::lib::tile::{Quads, Tile, add_dots};

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> d_o: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> qkv: array<f32>;
@if(!vec4) @group(0) @binding(2) var<storage, read_write> dp: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> d_o: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@if(vec4) @group(0) @binding(2) var<storage, read_write> dp: array<vec4f>;
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
    let width = params.heads * params.head_dim;
    let d = output_at(params, bh) + t * width;
    let v = third_at(params, bh, 2u) + key * 3u * width;
    var sum = 0.0;
    if (key <= t) {
        for (var c = 0u; c < params.head_dim; c++) {
            sum += d_o[d + c] * qkv[v + c];
        }
    }
    dp[i] = sum;
}

// Four columns of eight rows from row t on. Rows past the end repeat the last one; what comes of them is not stored.
@if(vec4)
fn load_d(at: u32, t: u32) -> Quads {
    let stride = params.heads * params.head_dim / 4u;
    let last = params.context - 1u;
    return Quads(d_o[at + min(t, last) * stride], d_o[at + min(t + 1u, last) * stride],
                 d_o[at + min(t + 2u, last) * stride], d_o[at + min(t + 3u, last) * stride],
                 d_o[at + min(t + 4u, last) * stride], d_o[at + min(t + 5u, last) * stride],
                 d_o[at + min(t + 6u, last) * stride], d_o[at + min(t + 7u, last) * stride]);
}

@if(vec4)
fn load_v(at: u32, t: u32) -> Quads {
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
    dp[at] = select(vec4f(0.0), low, keys <= vec4u(t));
    if (key + 4u < params.context) {
        dp[at + 1u] = select(vec4f(0.0), high, keys + 4u <= vec4u(t));
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
        let d = output_at(params, bh) / 4u;
        let v = third_at(params, bh, 2u) / 4u;
        for (var c = 0u; c < params.head_dim / 4u; c++) {
            add_dots(&sums, load_d(d + c, t), load_v(v + c, key));
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
