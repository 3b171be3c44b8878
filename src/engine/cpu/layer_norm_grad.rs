//! Twin of `shaders/layer_norm_grad.wgsl`: dx = rstd * (g - mean of g - n * mean of g n), g = dy * gamma and n the
//! normalized x; rms: without the mean of g.

use super::words::{has, load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let (dy, x, gamma, mean, rstd, dx) = if has(variant, "rms") {
        let [dy, x, gamma, rstd, dx] = operands(variant, bindings)?;
        (dy, x, gamma, None, rstd, dx)
    } else {
        let [dy, x, gamma, mean, rstd, dx] = operands(variant, bindings)?;
        (dy, x, gamma, Some(mean), rstd, dx)
    };
    for r in 0..rows {
        let center = mean.map_or(0.0, |mean| f64::from(load(mean, r)));
        let scale = f64::from(load(rstd, r));
        let slope = |c: usize| f64::from(load(dy, r * cols + c)) * f64::from(load(gamma, c));
        let normal = |c: usize| (f64::from(load(x, r * cols + c)) - center) * scale;
        let (mut slopes, mut products) = (0.0, 0.0);
        for c in 0..cols {
            slopes += slope(c);
            products += slope(c) * normal(c);
        }
        let mean_slope = mean.map_or(0.0, |_| slopes / cols as f64);
        let mean_product = products / cols as f64;
        for c in 0..cols {
            // In place dx is dy, so this element of dy must be read before it is written, and is not needed again.
            let value = scale * (slope(c) - mean_slope - normal(c) * mean_product);
            store(dx, r * cols + c, value as f32);
        }
    }
    Ok(())
}
