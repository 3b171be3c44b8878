//! Twin of `shaders/broadcast.wgsl`: y[r, c] = factor * (x[c], x[r] or x[0]).

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let factor = params.get_f32("factor")?;
    for r in 0..rows {
        for c in 0..cols {
            let source = match variant {
                "rows" => c,
                "cols" => r,
                _ => 0,
            };
            store(y, r * cols + c, factor * load(x, source));
        }
    }
    Ok(())
}
