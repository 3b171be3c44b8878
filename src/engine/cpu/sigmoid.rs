//! Twin of `shaders/sigmoid.wgsl`: y = 1 / (1 + exp(-x)).

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
        store(y, i, (1.0 / (1.0 + f64::from(-load(x, i)).exp())) as f32);
    }
    Ok(())
}
