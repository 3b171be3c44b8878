//! Twin of `shaders/swiglu_grad.wgsl`: d_gate = dy * up * s * (1 + gate * (1 - s)) and d_up = dy * gate * s.

use super::swiglu::logistic;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, dx] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    for r in 0..rows {
        for c in 0..cols {
            let at = r * 2 * cols + c;
            let (gate, up) = (f64::from(load(x, at)), f64::from(load(x, at + cols)));
            let (s, rest) = (logistic(gate), logistic(-gate));
            let d = f64::from(load(dy, r * cols + c));
            store(dx, at, (d * up * s * (1.0 + gate * rest)) as f32);
            store(dx, at + cols, (d * gate * s) as f32);
        }
    }
    Ok(())
}
