//! Twin of `shaders/norm_finish.wgsl`: the global norm, and what the optimizers do with the gradient.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let (count, offset) = (params.get("count")?, params.get("offset")?);
    let sum = |partials: &Words| {
        let sum: f64 = (offset..offset + count)
            .map(|i| f64::from(load(partials, i)))
            .sum();
        // Rounded before any test: a sum past the largest F32 counts as not finite, as it does in the shader.
        sum as f32
    };
    let (norm, values) = if has(variant, "scaled") {
        let [partials, state, norm] = bind(bindings)?;
        (norm, scaled(sum(partials), state, step))
    } else {
        let [partials, norm] = bind(bindings)?;
        (norm, plain(sum(partials), step))
    };
    for (i, value) in values.into_iter().enumerate() {
        store(norm, i, value);
    }
    Ok(())
}

fn plain(sum: f32, step: &Step) -> [f32; 8] {
    let length = sum.sqrt();
    let factor = clip_factor(length, step.max_norm);
    let t = step.update.wrapping_add(1) as f32;
    [length, factor, 0.0, step.bias1, step.bias2, t, 1.0, 0.0]
}

fn scaled(sum: f32, state: &Words, step: &Step) -> [f32; 8] {
    let scale = load(state, 0);
    let (length, factor, skip) = if sum.is_finite() {
        let length = sum.sqrt() / scale;
        (length, clip_factor(length, step.max_norm) / scale, 0.0)
    } else {
        (sum, 0.0, 1.0)
    };
    let (bias1, bias2) = (load(state, 4), load(state, 5));
    let (t, skips) = (load(state, 2) + 1.0, load(state, 3));
    [length, factor, skip, bias1, bias2, t, scale, skips]
}

fn clip_factor(length: f32, max_norm: f32) -> f32 {
    if max_norm == 0.0 {
        return 1.0;
    }
    if !length.is_finite() {
        return f32::NAN;
    }
    (max_norm / (length + 1e-6)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::words::{cells, floats};
    use super::*;

    const STATE: [f32; 8] = [1024.0, 3.0, 17.0, 2.0, 0.4, 0.03, 0.0, 0.0];

    fn finish(variant: &str, partials: &[f32], max_norm: f32) -> Vec<f32> {
        let params = Params::new().with("count", 2).with("offset", 1);
        let step = Step {
            update: 4,
            bias1: 0.5,
            bias2: 0.25,
            max_norm,
            ..Step::default()
        };
        let (partials, state, norm) = (cells(partials), cells(&STATE), cells(&[7.0; 8]));
        let scaled: [&Words; 3] = [&partials, &state, &norm];
        let plain: [&Words; 2] = [&partials, &norm];
        let bindings: &[&Words] = if variant.is_empty() { &plain } else { &scaled };
        run(variant, &params, &step, bindings).unwrap();
        floats(&norm)
    }

    #[test]
    fn the_plain_norm_takes_its_numbers_from_the_step() {
        let rest = [0.0, 0.5, 0.25, 5.0, 1.0, 0.0];
        let free = finish("", &[99.0, 9.0, 16.0], 0.0);
        assert_eq!(free, [&[5.0, 1.0][..], &rest].concat());
        let clipped = finish("", &[99.0, 9.0, 16.0], 2.5);
        assert!((clipped[1] - 0.5).abs() < 1e-6, "{clipped:?}");
        assert_eq!(clipped[2..], rest);
    }

    /// The gradient of a loss times 1024: its length is 1024 * 5.
    #[test]
    fn the_scaled_norm_is_that_of_the_true_gradient() {
        let square = 1024.0 * 1024.0;
        let partials = [99.0, 9.0 * square, 16.0 * square];
        let rest = [0.0, 0.4, 0.03, 18.0, 1024.0, 2.0];
        let free = finish("scaled", &partials, 0.0);
        assert_eq!(free, [&[5.0, 1.0 / 1024.0][..], &rest].concat());
        // A limit that is not reached leaves exactly the inverse of the scale.
        assert_eq!(finish("scaled", &partials, 10.0), free);
        let clipped = finish("scaled", &partials, 2.5);
        assert!((clipped[1] * 1024.0 - 0.5).abs() < 1e-6, "{clipped:?}");
    }

    #[test]
    fn a_gradient_that_is_not_finite_is_skipped_and_shown() {
        for (broken, max_norm) in [(f32::INFINITY, 0.0), (f32::NAN, 1.0), (f32::MAX, 1.0)] {
            let norm = finish("scaled", &[0.0, broken, broken], max_norm);
            assert!(!norm[0].is_finite(), "{norm:?}");
            assert_eq!(norm[1..], [0.0, 1.0, 0.4, 0.03, 18.0, 1024.0, 2.0]);
        }
    }
}
