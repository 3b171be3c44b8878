//! Twin of `shaders/silu.wgsl`: y = x / (1 + exp(-x)).

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = operands(variant, bindings)?;
    for i in 0..params.get("n")? {
        let value = f64::from(load(x, i));
        store(y, i, (value / (1.0 + (-value).exp())) as f32);
    }
    Ok(())
}
