// Rounds a tensor to 8 bits, in blocks with a scale of their own: scale = max |x| / 127, q = round(x / scale).
//
// Symmetric: q goes from -127 to 127, and 0 stays 0. A block of zeros has codes and scale 0, and so has one whose
// largest magnitude is below 2^-119, as its scale would not be a normal number, which some devices take for 0.
// A block with a NaN or an infinity gets the scale NaN, so that all of it comes back as NaN: no broken number is
// hidden.
//
// Shapes: x holds n elements; codes holds ceil(n / 4) words of four codes, with 0 past the last element; scales holds
// ceil(n / block) numbers. block is a multiple of 4.
// Reads x, writes codes and scales.
// One workgroup handles a block, an invocation every 64th word of it. A tree in workgroup memory finds the maximum, as
// a bit pattern: the bits of positive floats are in the order of the floats, with the NaNs last.

import package::lib::bytes::pack;
import package::lib::index::linear_index;

override WG: u32 = 64u;
const SMALLEST: u32 = 8u << 23u;     // the bits of 2^-119
const INFINITY: u32 = 0x7f800000u;

struct Params {
    n: u32,      // elements
    block: u32,  // elements that share a scale
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> codes: array<u32>;
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> largest: array<u32, WG>;

// Which of the four elements of word i there are. What stands past the last one is unknown and must not count.
fn inside(i: u32) -> vec4<bool> {
    return vec4u(4u * i) + vec4u(0u, 1u, 2u, 3u) < vec4u(params.n);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
    let block = linear_index(workgroup, groups, 1u);
    if (block >= (params.n + params.block - 1u) / params.block) {
        return;
    }
    let first = block * (params.block / 4u);
    let end = min(first + params.block / 4u, (params.n + 3u) / 4u);
    var share = 0u;
    for (var i = first + lane; i < end; i += WG) {
        let size = select(vec4u(0u), bitcast<vec4u>(x[i]) & vec4u(0x7fffffffu), inside(i));
        share = max(share, max(max(size.x, size.y), max(size.z, size.w)));
    }
    largest[lane] = share;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            largest[lane] = max(largest[lane], largest[lane + half]);
        }
    }
    workgroupBarrier();
    let bits = largest[0];
    let has_codes = bits >= SMALLEST && bits < INFINITY;
    // Any finite number serves where there are no codes.
    let size = bitcast<f32>(select(1u << 29u, bits, has_codes));
    if (lane == 0u) {
        let without = bitcast<f32>(select(0u, 0x7fc00000u, bits >= INFINITY));
        scales[block] = select(without, size / 127.0, has_codes);
    }
    for (var i = first + lane; i < end; i += WG) {
        let q = round(x[i] * (127.0 / size));
        codes[i] = pack(clamp(q, vec4f(-127.0), vec4f(127.0)), inside(i) & vec4<bool>(has_codes));
    }
}
