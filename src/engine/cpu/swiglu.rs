//! Twin of `shaders/swiglu.wgsl`: y = silu(gate) * up, the gate in the first half of each row of x, up in the second.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    for r in 0..rows {
        for c in 0..cols {
            let gate = f64::from(load(x, r * 2 * cols + c));
            let up = f64::from(load(x, r * 2 * cols + cols + c));
            store(y, r * cols + c, (gate * logistic(gate) * up) as f32);
        }
    }
    Ok(())
}

/// 1 / (1 + exp(-x)).
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
