//! Twin of `shaders/sgd.wgsl`: w -= lr * (clip * g + weight_decay * w).

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w] = bind(bindings)?;
    let weight_decay = params.get_f32("weight_decay")?;
    for i in 0..params.get("n")? {
        let d = load(norm, 1) * load(g, i) + weight_decay * load(w, i);
        store(w, i, load(w, i) - step.lr * d);
    }
    Ok(())
}
