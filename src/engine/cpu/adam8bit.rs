//! Twin of `shaders/adam8bit.wgsl`: Adam and AdamW whose moving averages are kept in 8 bits.

use super::bytes;
use super::words::{bind, has, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w, m_codes, m_scales, v_codes, v_scales] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let decoupled = has(variant, "decoupled");
    let (beta1, beta2) = (params.get_f32("beta1")?, params.get_f32("beta2")?);
    let (bias1, bias2) = (load(norm, 3), load(norm, 4));
    let eps = params.get_f32("eps")?;
    let weight_decay = params.get_f32("weight_decay")?;
    let (n, size) = (params.get("n")?, params.get("block")?);
    for (block, first) in (0..n).step_by(size).enumerate() {
        let elements = first..n.min(first + size);
        let (m_scale, v_scale) = (load(m_scales, block), load(v_scales, block));
        let mut averages = Vec::with_capacity(size);
        for i in elements.clone() {
            let mut weight = load(w, i);
            let mut d = load(norm, 1) * load(g, i);
            if decoupled {
                weight *= 1.0 - step.lr * weight_decay;
            } else {
                d += weight_decay * weight;
            }
            let mean = beta1 * decode_m(bytes::signed(m_codes, i), m_scale) + (1.0 - beta1) * d;
            let old = decode_v(bytes::unsigned(v_codes, i), v_scale);
            let square = beta2 * old + (1.0 - beta2) * d * d;
            averages.push((mean, square));
            let moved = step.lr * (mean / bias1) / ((square / bias2).sqrt() + eps);
            store(w, i, weight - moved);
        }
        let m_scale = normal(averages.iter().fold(0.0, |a: f32, x| a.max(x.0.abs())));
        let v_scale = normal(averages.iter().fold(0.0, |a: f32, x| a.max(x.1)));
        store(m_scales, block, m_scale);
        store(v_scales, block, v_scale);
        for (i, (mean, square)) in elements.zip(averages) {
            bytes::set(m_codes, i, encode_m(mean, m_scale));
            bytes::set(v_codes, i, encode_v(square, v_scale));
        }
    }
    Ok(())
}

/// A scale, or 0 where some device would take it for 0.
fn normal(scale: f32) -> f32 {
    if scale < f32::MIN_POSITIVE {
        0.0
    } else {
        scale
    }
}

fn share(x: f32, scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { x / scale }
}

fn decode_m(code: f32, scale: f32) -> f32 {
    let root = code / 127.0;
    scale * (root * root.abs())
}

fn encode_m(mean: f32, scale: f32) -> f32 {
    let code = (127.0 * share(mean.abs(), scale).sqrt()).round_ties_even();
    code.min(127.0).copysign(mean)
}

fn decode_v(code: f32, scale: f32) -> f32 {
    let root = code / 255.0;
    let half = root * root;
    scale * (half * half)
}

fn encode_v(square: f32, scale: f32) -> f32 {
    let code = (255.0 * share(square, scale).sqrt().sqrt()).round_ties_even();
    let least = if square > 0.0 { 1.0 } else { 0.0 };
    code.clamp(least, 255.0)
}

#[cfg(test)]
mod tests {
    use super::super::words::{assert_near, cells, floats, norm_of_skip, norm_of_update};
    use super::*;
    use std::cell::Cell;

    const N: usize = 6;

    fn params(weight_decay: f32) -> Params {
        Params::new()
            .with("n", N)
            .with("block", 4)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999)
            .with_f32("eps", 1e-8)
            .with_f32("weight_decay", weight_decay)
    }

    /// Weights, codes and scales before any update.
    fn fresh(weight: f32) -> [Vec<Cell<u32>>; 5] {
        let zeros = |n: usize| cells(&vec![0.0; n]);
        [cells(&[weight; N]), zeros(2), zeros(2), zeros(2), zeros(2)]
    }

    fn update(variant: &str, decay: f32, norm: &Words, g: &[f32; N], of: &[Vec<Cell<u32>>; 5]) {
        let step = Step {
            lr: 0.1,
            ..Step::default()
        };
        let g = cells(g);
        let state = of.iter().map(Vec::as_slice);
        let bindings: Vec<&Words> = [norm, &g].into_iter().chain(state).collect();
        run(variant, &params(decay), &step, &bindings).unwrap();
    }

    #[test]
    fn every_code_comes_back_from_its_value() {
        for scale in [1.0, 3e-5, 7e8] {
            for code in -127..=127 {
                let code = code as f32;
                assert_eq!(encode_m(decode_m(code, scale), scale), code, "m {scale}");
            }
            for code in 0..=255 {
                let code = code as f32;
                assert_eq!(encode_v(decode_v(code, scale), scale), code, "v {scale}");
            }
        }
        // 255^-4 / 16 is the middle between codes 0 and 1 in the root: below it only the bound keeps v from becoming 0.
        assert_eq!(encode_v(1e-20, 1.0), 1.0);
        assert_eq!([encode_v(0.0, 1.0), encode_v(0.0, 0.0)], [0.0, 0.0]);
        assert_eq!([decode_m(5.0, 0.0), decode_v(5.0, 0.0)], [0.0, 0.0]);
    }

    /// The first step moves every weight by lr, as that of Adam does; the block of zeros stays as it is.
    #[test]
    fn the_first_step_is_that_of_adam() {
        let state = fresh(1.0);
        let norm = norm_of_update(1, 1.0, 0.9, 0.999);
        update("", 0.0, &norm, &[4.0, -1.0, 0.0, 1.0, 0.0, 0.0], &state);
        assert_near(&floats(&state[0]), &[0.9, 1.1, 1.0, 0.9, 1.0, 1.0]);
        assert_near(&floats(&state[2]), &[0.4, 0.0]);
        assert_near(&floats(&state[4]), &[0.016, 0.0]);
        // A quarter of the largest m has half its code; a 16th of the largest v has half its code, 127.5, to even 128.
        let bytes = |words: &Words| -> Vec<u8> {
            let words: Vec<u32> = words.iter().map(Cell::get).collect();
            words.iter().flat_map(|w| w.to_le_bytes()).collect()
        };
        let m: Vec<i8> = bytes(&state[1]).iter().map(|b| b.cast_signed()).collect();
        assert!(
            matches!(m[..], [127, -63 | -64, 0, 63 | 64, 0, 0, 0, 0]),
            "{m:?}"
        );
        let v = bytes(&state[3]);
        assert!(
            matches!(v[..], [255, 127 | 128, 0, 127 | 128, 0, 0, 0, 0]),
            "{v:?}"
        );
    }

    #[test]
    fn decay_is_decoupled_in_one_variant_only() {
        let norm = norm_of_update(1, 1.0, 0.9, 0.999);
        for (variant, expected) in [("decoupled", 1.98), ("", 1.9)] {
            let state = fresh(2.0);
            update(variant, 0.1, &norm, &[0.0; N], &state);
            assert_near(&floats(&state[0]), &[expected; N]);
        }
    }

    /// A hundred updates by gradients of very different size stay near to those of Adam in F32.
    #[test]
    fn many_steps_stay_near_to_adam() {
        let state = fresh(0.0);
        let (w, m, v) = (cells(&[0.0; N]), cells(&[0.0; N]), cells(&[0.0; N]));
        let full = Params::new()
            .with("n", N)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999)
            .with_f32("eps", 1e-8)
            .with_f32("weight_decay", 0.0);
        let step = Step {
            lr: 0.1,
            ..Step::default()
        };
        for t in 1..=100 {
            let norm = norm_of_update(t, 1.0, 0.9, 0.999);
            let wave = 1.0 + 0.5 * (t as f32).sin();
            let g = [1.0, -0.1, 0.01, 2.0, 1e-3, 1e-4].map(|g| g * wave);
            update("", 0.0, &norm, &g, &state);
            let bindings: [&Words; 5] = [&norm, &cells(&g), &w, &m, &v];
            super::super::adam::run("", &full, &step, &bindings).unwrap();
        }
        for (quantized, exact) in floats(&state[0]).iter().zip(floats(&w)) {
            assert!(
                (quantized / exact - 1.0).abs() < 0.1,
                "{quantized}, {exact}"
            );
        }
    }

    #[test]
    fn a_skip_changes_nothing() {
        let state = fresh(1.5);
        let norm = norm_of_update(1, 1.0, 0.9, 0.999);
        update("", 0.0, &norm, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &state);
        let words = |state: &[Vec<Cell<u32>>; 5]| state.clone().map(|b| floats(&b));
        let before = words(&state).map(|b| b.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        update("decoupled", 0.1, &norm_of_skip(), &[f32::NAN; N], &state);
        let after = words(&state).map(|b| b.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        assert_eq!(before, after);
    }
}
