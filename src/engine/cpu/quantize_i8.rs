//! Twin of `shaders/quantize_i8.wgsl`: a tensor in 8 bits, in blocks with a scale of their own.

use super::bytes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

/// 2^-119: a block whose magnitudes are all smaller becomes zeros.
const SMALLEST: f32 = 128.0 * f32::MIN_POSITIVE;

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, codes, scales] = bind(bindings)?;
    let (n, size) = (params.get("n")?, params.get("block")?);
    for (block, first) in (0..n).step_by(size).enumerate() {
        let elements = first..n.min(first + size);
        let is_broken = elements.clone().any(|i| !load(x, i).is_finite());
        let largest = elements
            .clone()
            .fold(0.0, |a: f32, i| a.max(load(x, i).abs()));
        let has_codes = !is_broken && largest >= SMALLEST;
        let scale = match (is_broken, has_codes) {
            (true, _) => f32::NAN,
            (_, true) => largest / 127.0,
            _ => 0.0,
        };
        store(scales, block, scale);
        for i in elements {
            let code = if has_codes {
                (load(x, i) * (127.0 / largest)).round_ties_even()
            } else {
                0.0
            };
            bytes::set(codes, i, code.clamp(-127.0, 127.0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::dequantize_i8;
    use super::super::words::{cells, floats};
    use super::*;

    /// What comes back of x, and the scales of its blocks of 4.
    fn there_and_back(x: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let params = Params::new().with("n", x.len()).with("block", 4);
        let zeros = |n: usize| cells(&vec![0.0; n]);
        let words = x.len().div_ceil(4);
        let (codes, scales, y) = (zeros(words), zeros(words), zeros(x.len()));
        let step = Step::default();
        run("", &params, &step, &[&cells(x), &codes, &scales]).unwrap();
        dequantize_i8::run("", &params, &step, &[&codes, &scales, &y]).unwrap();
        (floats(&y), floats(&scales))
    }

    #[test]
    fn blocks_worked_out_by_hand_come_back_rounded() {
        let (y, scales) = there_and_back(&[254.0, -3.1, 0.9, -254.0, 0.0, -0.0, 12.7, -6.3, 0.0]);
        assert_eq!(y[..4], [254.0, -4.0, 0.0, -254.0]);
        let expected = [0.0, 0.0, 12.7, -6.3];
        let near = y[4..8]
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near && y[8] == 0.0, "{y:?}");
        assert_eq!([scales[0], scales[2]], [2.0, 0.0]);
    }

    #[test]
    fn numbers_too_small_become_zeros_and_broken_ones_stay_visible() {
        let (y, scales) = there_and_back(&[1e-38, -1e-42, 0.0, 0.0, 3e38, -1.0, 0.0, 1e38]);
        assert_eq!(y[..4], [0.0; 4]);
        assert_eq!(scales[0], 0.0);
        assert!((y[4] / 3e38 - 1.0).abs() < 1e-6 && y[5] == 0.0, "{y:?}");
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (y, _) = there_and_back(&[1.0, broken, 0.0, 2.0, 5.0]);
            assert!(y[..4].iter().all(|y| y.is_nan()), "{y:?}");
            assert_eq!(y[4], 5.0);
        }
    }
}
