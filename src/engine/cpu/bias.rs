//! Twin of `shaders/bias.wgsl`: y[r, c] = x[r, c] + b[c].

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, b, y] = operands(variant, bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    for r in 0..rows {
        for c in 0..cols {
            store(y, r * cols + c, load(x, r * cols + c) + load(b, c));
        }
    }
    Ok(())
}
