//! Twin of `shaders/scale_by.wgsl`: y = x * s[0].

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, s, y] = operands(variant, bindings)?;
    for i in 0..params.get("n")? {
        store(y, i, load(x, i) * load(s, 0));
    }
    Ok(())
}
