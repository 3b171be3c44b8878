//! Twin of `shaders/pick_row.wgsl`: y = x[step.rows - 1].

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let r = (step.rows as usize).clamp(1, rows.max(1)) - 1;
    for c in 0..cols {
        store(y, c, load(x, r * cols + c));
    }
    Ok(())
}
