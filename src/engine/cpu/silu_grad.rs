//! Twin of `shaders/silu_grad.wgsl`: dx = dy s (1 + x (1 - s)), with s the logistic function of x.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, dx] = operands(variant, bindings)?;
    for i in 0..params.get("n")? {
        // Past 100 the slope has long been 0 or 1, and infinity would give no number.
        let value = f64::from(load(x, i)).clamp(-100.0, 100.0);
        let s = 1.0 / (1.0 + (-value).exp());
        store(
            dx,
            i,
            (f64::from(load(dy, i)) * s * (1.0 + value * (1.0 - s))) as f32,
        );
    }
    Ok(())
}
