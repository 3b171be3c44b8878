//! Twin of `shaders/global_pool_grad.wgsl`: every pixel gets its share of the gradient of the mean.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, dx] = bind(bindings)?;
    let (batch, positions) = (params.get("batch")?, params.get("positions")?);
    let channels = params.get("channels")?;
    for n in 0..batch {
        for p in 0..positions {
            for c in 0..channels {
                let share = load(dy, n * channels + c) / positions as f32;
                store(dx, (n * positions + p) * channels + c, share);
            }
        }
    }
    Ok(())
}
