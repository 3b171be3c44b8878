//! Twin of `shaders/adafactor_second.wgsl`: the moving average of the squared gradient, for every element.

use super::adafactor::{TINY, new_share};
use super::words::{bind, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, v] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let share = new_share(load(norm, 5));
    for i in 0..params.get("n")? {
        let d = load(norm, 1) * load(g, i);
        store(v, i, (1.0 - share) * load(v, i) + share * (d * d + TINY));
    }
    Ok(())
}
