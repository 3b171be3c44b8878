//! Twin of `shaders/batch_moments_finish.wgsl`: mean and variance of each column from its blocks.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let running = has(variant, "running");
    let [means, squares, mean, variance] = bind(bindings.get(..4).unwrap_or(bindings))?;
    let (rows, cols, blocks) = (
        params.get("rows")?,
        params.get("cols")?,
        params.get("blocks")?,
    );
    let valid = rows.min(step.rows as usize * params.get("rows_per_sample")?);
    let share = rows.div_ceil(blocks.max(1));
    let sizes: Vec<f64> = (0..blocks)
        .map(|b| ((b + 1) * share).min(valid).saturating_sub(b * share) as f64)
        .collect();
    let count = sizes.iter().sum::<f64>();
    for c in 0..cols {
        let of_block = |words: &Words, b: usize| f64::from(load(words, b * cols + c));
        let sum: f64 = (0..blocks).map(|b| sizes[b] * of_block(means, b)).sum();
        let center = sum / count.max(1.0);
        // The blocks were measured from their own means; the rest is how far those lie from the mean of all.
        let m2: f64 = (0..blocks)
            .filter(|b| sizes[*b] > 0.0)
            .map(|b| of_block(squares, b) + sizes[b] * (of_block(means, b) - center).powi(2))
            .sum();
        store(mean, c, center as f32);
        store(variance, c, (m2 / count.max(1.0)) as f32);
        if running {
            let momentum = f64::from(params.get_f32("momentum")?);
            let [.., running_mean, running_variance] = bindings else {
                return Ok(());
            };
            let moved = |words: &Words, new: f64| {
                let old = f64::from(load(words, c));
                ((1.0 - momentum) * old + momentum * new) as f32
            };
            store(running_mean, c, moved(running_mean, center));
            let unbiased = m2 / (count - 1.0).max(1.0);
            store(running_variance, c, moved(running_variance, unbiased));
        }
    }
    Ok(())
}
