//! Twin of `shaders/batch_norm_grad.wgsl`: the gradient of batch normalisation through its statistics.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, mean, variance, gamma, d_gamma, d_beta, dx] = operands(variant, bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let eps = params.get_f32("eps")?;
    let valid = rows.min(step.rows as usize * params.get("rows_per_sample")?);
    for r in 0..rows {
        for c in 0..cols {
            let i = r * cols + c;
            if r >= valid {
                store(dx, i, 0.0);
                continue;
            }
            let rstd = 1.0 / (load(variance, c) + eps).sqrt();
            let xhat = (load(x, i) - load(mean, c)) * rstd;
            let through = (load(d_beta, c) + xhat * load(d_gamma, c)) / valid as f32;
            store(dx, i, load(gamma, c) * rstd * (load(dy, i) - through));
        }
    }
    Ok(())
}
