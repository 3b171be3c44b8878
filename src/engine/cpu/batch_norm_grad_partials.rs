//! Twin of `shaders/batch_norm_grad_partials.wgsl`: sums of dy xhat and of dy over blocks of rows.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, mean, variance, d_gamma, d_beta] = bind(bindings)?;
    let (rows, cols, blocks) = (
        params.get("rows")?,
        params.get("cols")?,
        params.get("blocks")?,
    );
    let eps = f64::from(params.get_f32("eps")?);
    let share = rows.div_ceil(blocks.max(1));
    for block in 0..blocks {
        let first = (block * share).min(rows);
        let end = (first + share).min(rows);
        for c in 0..cols {
            let rstd = 1.0 / (f64::from(load(variance, c)) + eps).sqrt();
            let (mut by_gamma, mut by_beta) = (0.0, 0.0);
            for r in first..end {
                let slope = f64::from(load(dy, r * cols + c));
                by_gamma += slope * f64::from(load(x, r * cols + c) - load(mean, c)) * rstd;
                by_beta += slope;
            }
            store(d_gamma, block * cols + c, by_gamma as f32);
            store(d_beta, block * cols + c, by_beta as f32);
        }
    }
    Ok(())
}
