// F16 and BF16 by integer arithmetic: any WebGPU device can store them, with no shader-f16 feature, and every device
// rounds alike (pack2x16float may round either way and leaves overflow open). Four values at a time, as bit patterns.

// To the nearest F16, ties to even. NaN stays NaN; values from 65520 up become infinity.
fn f32_to_f16(bits: vec4u) -> vec4u {
    let sign = (bits >> vec4u(16u)) & vec4u(0x8000u);
    let magnitude = bits & vec4u(0x7fffffffu);

    // Normal results: move the exponent bias from 127 to 15 and drop 13 bits; the carry may run into the exponent.
    let odd = (magnitude >> vec4u(13u)) & vec4u(1u);
    let normal = (magnitude - vec4u(112u << 23u) + vec4u(0xfffu) + odd) >> vec4u(13u);

    // Below 2^-14 the result is subnormal: a multiple of 2^-24, so the mantissa moves right by 126 - exponent bits.
    let shift = min(vec4u(126u) - min(magnitude >> vec4u(23u), vec4u(112u)), vec4u(25u));
    let mantissa = (magnitude & vec4u(0x7fffffu)) | vec4u(0x800000u);
    let tie_to_even = ((mantissa >> shift) & vec4u(1u)) + (vec4u(1u) << (shift - 1u)) - 1u;
    let subnormal = (mantissa + tie_to_even) >> shift;

    var half = select(normal, subnormal, magnitude < vec4u(113u << 23u));
    half = select(half, vec4u(0x7c00u), magnitude >= vec4u(0x477ff000u));
    half = select(half, vec4u(0x7e00u), magnitude > vec4u(0x7f800000u));
    return sign | half;
}

// Exact: every F16 is an F32.
fn f16_to_f32(half: vec4u) -> vec4u {
    let sign = (half & vec4u(0x8000u)) << vec4u(16u);
    let magnitude = half & vec4u(0x7fffu);
    let normal = (magnitude << vec4u(13u)) + vec4u(112u << 23u);
    let subnormal = bitcast<vec4u>(vec4f(magnitude) * 5.9604645e-8);  // times 2^-24, exact
    let special = (magnitude << vec4u(13u)) | vec4u(0x7f800000u);
    var bits = select(normal, subnormal, magnitude < vec4u(0x400u));
    bits = select(bits, special, magnitude >= vec4u(0x7c00u));
    return sign | bits;
}

// To the nearest BF16, ties to even: the upper half of the F32. NaN stays NaN even when its payload is in the lower half.
fn f32_to_bf16(bits: vec4u) -> vec4u {
    let odd = (bits >> vec4u(16u)) & vec4u(1u);
    let rounded = (bits + vec4u(0x7fffu) + odd) >> vec4u(16u);
    let nan = (bits >> vec4u(16u)) | vec4u(0x40u);
    return select(rounded, nan, (bits & vec4u(0x7fffffffu)) > vec4u(0x7f800000u));
}

fn bf16_to_f32(half: vec4u) -> vec4u {
    return half << vec4u(16u);
}

// Two 16-bit values to a word, the first in the low half.
fn pack_halves(half: vec4u) -> vec2u {
    return half.xz | (half.yw << vec2u(16u));
}

fn unpack_halves(words: vec2u) -> vec4u {
    let low = words & vec2u(0xffffu);
    let high = words >> vec2u(16u);
    return vec4u(low.x, high.x, low.y, high.y);
}
