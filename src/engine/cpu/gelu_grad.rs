//! Twin of `shaders/gelu_grad.wgsl`: dx = dy * d gelu(x) / dx.

use super::gelu::{exact_slope, tanh_slope};
use super::words::{has, load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, dx] = operands(variant, bindings)?;
    let slope = if has(variant, "exact") {
        exact_slope
    } else {
        tanh_slope
    };
    for i in 0..params.get("n")? {
        store(
            dx,
            i,
            (f64::from(load(dy, i)) * slope(load(x, i).into())) as f32,
        );
    }
    Ok(())
}
