// Converts between 32-bit and 16-bit storage. 16-bit values are packed two to a word, the first in the low half.
//
// Variants f32_f16 and f32_bf16 round to the nearest, ties to even; NaN stays NaN, overflow becomes infinity.
// Variants f16_f32 and bf16_f32 are exact.
//
// Shapes: x and y hold n elements each: n words on the 32-bit side, ceil(n / 2) on the 16-bit side, whose last half
// word is written 0 if n is odd.
// Reads x, writes y, both as bit patterns: no float operation can touch a NaN on its way.
// One invocation handles four neighbouring elements.

import package::lib::index::linear_index;
import package::lib::half::{f32_to_f16, f16_to_f32, f32_to_bf16, bf16_to_f32, pack_halves, unpack_halves};

override WG: u32 = 64u;

struct Params {
    n: u32,  // elements
}

@if(f32_f16 || f32_bf16) @group(0) @binding(0) var<storage, read> x: array<vec4u>;
@if(f32_f16 || f32_bf16) @group(0) @binding(1) var<storage, read_write> y: array<vec2u>;
@if(f16_f32 || bf16_f32) @group(0) @binding(0) var<storage, read> x: array<vec2u>;
@if(f16_f32 || bf16_f32) @group(0) @binding(1) var<storage, read_write> y: array<vec4u>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    @if(f32_f16) let half = f32_to_f16(x[i]);
    @if(f32_bf16) let half = f32_to_bf16(x[i]);
    // What stands past the last element of x is unknown; past the last element of y there is 0.
    @if(f32_f16 || f32_bf16) let element = vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u);
    @if(f32_f16 || f32_bf16) y[i] = pack_halves(select(vec4u(0u), half, element < vec4u(params.n)));
    @if(f16_f32) y[i] = f16_to_f32(unpack_halves(x[i]));
    @if(bf16_f32) y[i] = bf16_to_f32(unpack_halves(x[i]));
}
