//! Twin of `shaders/relu.wgsl`: y = max(x, 0).

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
        let v = load(x, i);
        // Not f32::max, which would turn a NaN into 0.
        store(y, i, if v < 0.0 { 0.0 } else { v });
    }
    Ok(())
}
