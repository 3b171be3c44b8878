//! Twin of `shaders/relu_grad.wgsl`: dx = dy where y > 0, else 0.

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
        store(dx, i, if load(y, i) > 0.0 { load(dy, i) } else { 0.0 });
    }
    Ok(())
}
