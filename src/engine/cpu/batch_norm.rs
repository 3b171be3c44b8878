//! Twin of `shaders/batch_norm.wgsl`: y = (x - mean) / sqrt(variance + eps) gamma + beta, column by column.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, mean, variance, gamma, beta, y] = operands(variant, bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let eps = params.get_f32("eps")?;
    for c in 0..cols {
        let rstd = 1.0 / (load(variance, c) + eps).sqrt();
        for r in 0..rows {
            let i = r * cols + c;
            let value = (load(x, i) - load(mean, c)) * rstd * load(gamma, c) + load(beta, c);
            store(y, i, value);
        }
    }
    Ok(())
}
