//! Codes of 8 bits, four to a word, as `shaders/lib/bytes.wgsl` has them.

use crate::engine::kernel::Words;

/// The byte of element i.
fn byte(words: &Words, i: usize) -> u8 {
    (words[i / 4].get() >> (8 * (i % 4))) as u8
}

/// Element i as a code from 0 to 255.
pub(super) fn unsigned(words: &Words, i: usize) -> f32 {
    f32::from(byte(words, i))
}

/// Element i as a code from -128 to 127.
pub(super) fn signed(words: &Words, i: usize) -> f32 {
    f32::from(byte(words, i).cast_signed())
}

/// Sets element i to a whole number from -128 to 255. The first of a word sets the others to 0, so that 0 stands past
/// the last element.
pub(super) fn set(words: &Words, i: usize, code: f32) {
    let shift = 8 * (i % 4);
    let others = if shift == 0 { 0 } else { words[i / 4].get() };
    let byte = (code as i32 as u32) & 0xff;
    words[i / 4].set(others & !(0xff << shift) | byte << shift);
}
