//! Twin of `shaders/sigmoid_grad.wgsl`: dx = dy y (1 - y), from the output of the logistic function.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, y, dx] = operands(variant, bindings)?;
    for i in 0..params.get("n")? {
        store(dx, i, load(dy, i) * load(y, i) * (1.0 - load(y, i)));
    }
    Ok(())
}
