// Makes numbers of the 8-bit codes of quantize_i8 again: x = q * scale, with the scale of the block of x.
//
// Shapes: x holds n elements; codes holds ceil(n / 4) words of four codes; scales holds ceil(n / block) numbers. block
// is a multiple of 4.
// Reads codes and scales, writes x.
// One invocation handles a word: four neighbouring elements, which are of one block.

import package::lib::bytes::unpack_signed;
import package::lib::index::linear_index;

override WG: u32 = 64u;

struct Params {
    n: u32,      // elements
    block: u32,  // elements that share a scale
}

@group(0) @binding(0) var<storage, read> codes: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = linear_index(gid, groups, WG);
    if (i >= (params.n + 3u) / 4u) {
        return;
    }
    x[i] = unpack_signed(codes[i]) * scales[4u * i / params.block];
}
