// Codes of 8 bits, four to a word, the first in the lowest byte.

const SHIFTS: vec4u = vec4u(0u, 8u, 16u, 24u);

// The smallest positive number that no device rounds to 0. A scale below it would divide by 0 on some of them.
const SMALLEST_NORMAL: f32 = 1.1754944e-38;

// Codes from 0 to 255.
fn unpack_unsigned(word: u32) -> vec4f {
    return vec4f((vec4u(word) >> SHIFTS) & vec4u(0xffu));
}

// Codes from -128 to 127 in two's complement: the byte goes to the top of a word, and its sign is drawn down again.
fn unpack_signed(word: u32) -> vec4f {
    let top = bitcast<vec4i>(vec4u(word) << (vec4u(24u) - SHIFTS));
    return vec4f(top >> vec4u(24u));
}

// Whole numbers from -128 to 255. What stands outside of `inside`, past the end of a tensor, becomes 0.
fn pack(codes: vec4f, inside: vec4<bool>) -> u32 {
    let bytes = bitcast<vec4u>(select(vec4i(0), vec4i(codes), inside)) & vec4u(0xffu);
    let placed = bytes << SHIFTS;
    return placed.x | placed.y | placed.z | placed.w;
}
