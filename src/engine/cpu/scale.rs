//! Twin of `shaders/scale.wgsl`: y = factor * x.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = operands(variant, bindings)?;
    let factor = params.get_f32("factor")?;
    for i in 0..params.get("n")? {
        store(y, i, factor * load(x, i));
    }
    Ok(())
}
