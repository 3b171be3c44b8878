//! Twin of `shaders/fill.wgsl`: y = value.

use super::words::{bind, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [y] = bind(bindings)?;
    let value = params.get_f32("value")?;
    for i in 0..params.get("n")? {
        store(y, i, value);
    }
    Ok(())
}
