//! Twin of `shaders/add.wgsl`: y = a + b.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [a, b, y] = operands(variant, bindings)?;
    for i in 0..params.get("n")? {
        store(y, i, load(a, i) + load(b, i));
    }
    Ok(())
}
