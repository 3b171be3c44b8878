//! Twin of `shaders/relu6_grad.wgsl`: dx = dy where 0 < y < 6, else 0.

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
        let inside = load(y, i) > 0.0 && load(y, i) < 6.0;
        store(dx, i, if inside { load(dy, i) } else { 0.0 });
    }
    Ok(())
}
