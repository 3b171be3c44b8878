// Row sums for the backward pass of fused attention: delta[h, t] = dot(d_o[t], o[t]) over the columns of head h.
// It equals the sum over keys of p * dp that the backward pass of a softmax subtracts, without needing p.
//
// Shapes: d_o and o are [batch * context, width] with width = heads * head_dim; delta is [batch * heads, context].
// Reads d_o and o, writes delta. Dao et al., "FlashAttention", arXiv:2205.14135, appendix B.
// One invocation per query of a head. Variant vec4: head_dim must be a multiple of 4.

import package::lib::heads::{Shape, output_at};
import package::lib::index::linear_index;

override WG: u32 = 64u;

@if(!vec4) @group(0) @binding(0) var<storage, read> d_o: array<f32>;
@if(!vec4) @group(0) @binding(1) var<storage, read> o: array<f32>;
@if(vec4) @group(0) @binding(0) var<storage, read> d_o: array<vec4f>;
@if(vec4) @group(0) @binding(1) var<storage, read> o: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> delta: array<f32>;
@group(1) @binding(0) var<uniform> params: Shape;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    let t = i % params.context;
    let bh = i / params.context;
    if (bh >= params.batch * params.heads) {
        return;
    }
    let at = output_at(params, bh) + t * params.heads * params.head_dim;
    var sum = 0.0;
    @if(!vec4) {
        for (var c = 0u; c < params.head_dim; c++) {
            sum += d_o[at + c] * o[at + c];
        }
    }
    @if(vec4) {
        var sums = vec4f(0.0);
        for (var c = 0u; c < params.head_dim / 4u; c++) {
            sums += d_o[at / 4u + c] * o[at / 4u + c];
        }
        sum = (sums.x + sums.y) + (sums.z + sums.w);
    }
    delta[i] = sum;
}
