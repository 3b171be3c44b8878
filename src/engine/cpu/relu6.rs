//! Twin of `shaders/relu6.wgsl`: y = min(max(x, 0), 6).

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
        let value = load(x, i);
        // Comparisons, not min and max, which would turn a NaN into a number.
        let floored = if value < 0.0 { 0.0 } else { value };
        store(y, i, if floored > 6.0 { 6.0 } else { floored });
    }
    Ok(())
}
