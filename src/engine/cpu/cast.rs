//! Twin of `shaders/cast.wgsl`: F16 and BF16 packed two to a word, by the integer arithmetic of `shaders/lib/half.wgsl`.

use super::words::bind;
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let n = params.get("n")?;
    match variant {
        "f32_f16" => narrow(x, y, n, f32_to_f16),
        "f32_bf16" => narrow(x, y, n, f32_to_bf16),
        "f16_f32" => widen(x, y, n, f16_to_f32),
        _ => widen(x, y, n, |half| half << 16),
    }
    Ok(())
}

/// Packs n values, the first of each pair in the low half. The half past an odd end is 0.
fn narrow(x: &Words, y: &Words, n: usize, to_half: fn(u32) -> u32) {
    for i in (0..n).step_by(2) {
        let high = if i + 1 < n {
            to_half(x[i + 1].get())
        } else {
            0
        };
        y[i / 2].set(to_half(x[i].get()) | high << 16);
    }
}

fn widen(x: &Words, y: &Words, n: usize, to_f32: fn(u32) -> u32) {
    for i in 0..n {
        y[i].set(to_f32(x[i / 2].get() >> (16 * (i % 2)) & 0xffff));
    }
}

/// To the nearest F16, ties to even; NaN stays NaN, values from 65520 up become infinity.
fn f32_to_f16(bits: u32) -> u32 {
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude >= 113 << 23 {
        // Normal: move the exponent bias from 127 to 15 and drop 13 bits; the carry may run into the exponent.
        (magnitude - (112 << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13
    } else {
        // Subnormal: a multiple of 2^-24, so the mantissa moves right by 126 - exponent bits.
        let shift = (126 - (magnitude >> 23)).min(25);
        let mantissa = magnitude & 0x007f_ffff | 0x0080_0000;
        (mantissa + (mantissa >> shift & 1) + (1 << (shift - 1)) - 1) >> shift
    };
    sign | half
}

/// Exact: every F16 is an F32.
fn f16_to_f32(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = half & 0x7fff;
    let bits = if magnitude >= 0x7c00 {
        magnitude << 13 | 0x7f80_0000
    } else if magnitude >= 0x400 {
        (magnitude << 13) + (112 << 23)
    } else {
        (magnitude as f32 * 2f32.powi(-24)).to_bits()
    };
    sign | bits
}

/// To the nearest BF16, ties to even: the upper half of the F32. NaN stays NaN even when its payload is all below.
fn f32_to_bf16(bits: u32) -> u32 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return bits >> 16 | 0x40;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of an F16 by the definition in IEEE 754, in F64 arithmetic.
    fn value(half: u32) -> f64 {
        let (exponent, fraction) = (half >> 10 & 31, f64::from(half & 0x3ff) / 1024.0);
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-14),
            _ => (1.0 + fraction) * 2f64.powi(exponent as i32 - 15),
        };
        if half & 0x8000 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    #[test]
    fn every_f16_has_the_value_of_the_standard_and_comes_back() {
        for half in (0..=0xffff).filter(|h| h & 0x7c00 != 0x7c00) {
            assert_eq!(
                f64::from(f32::from_bits(f16_to_f32(half))),
                value(half),
                "{half:#06x}"
            );
            assert_eq!(f32_to_f16(f16_to_f32(half)), half);
        }
        assert_eq!(f32::from_bits(f16_to_f32(0x7c00)), f32::INFINITY);
        assert_eq!(f32::from_bits(f16_to_f32(0xfc00)), f32::NEG_INFINITY);
        assert!(f32::from_bits(f16_to_f32(0x7e00)).is_nan());
    }

    /// Halfway between two neighbours the even one wins; one F32 to either side the nearer one does.
    #[test]
    fn rounding_to_f16_is_to_the_nearest_even_at_every_midpoint() {
        for half in 0..0x7bff {
            let middle = ((value(half) + value(half + 1)) / 2.0) as f32;
            let even = half + (half & 1);
            assert_eq!(f32_to_f16(middle.to_bits()), even, "{half:#06x}");
            assert_eq!(f32_to_f16(middle.to_bits() - 1), half, "{half:#06x}");
            assert_eq!(f32_to_f16(middle.to_bits() + 1), half + 1, "{half:#06x}");
        }
        assert_eq!(f32_to_f16(65519.996f32.to_bits()), 0x7bff);
        assert_eq!(f32_to_f16(65520f32.to_bits()), 0x7c00);
        assert_eq!(f32_to_f16(f32::MAX.to_bits()), 0x7c00);
    }

    #[test]
    fn rounding_to_bf16_is_to_the_nearest_even_and_keeps_nan() {
        for (bits, expected) in [
            (0x3f80_8000, 0x3f80),
            (0x3f81_8000, 0x3f82),
            (0x3f80_8001, 0x3f81),
            (0x3f80_7fff, 0x3f80),
            (f32::MAX.to_bits(), 0x7f80),
            (0x7f80_0000, 0x7f80),
            (0xff80_0000, 0xff80),
            (0x7f80_0001, 0x7fc0),
        ] {
            assert_eq!(f32_to_bf16(bits), expected, "{bits:#010x}");
        }
    }
}
