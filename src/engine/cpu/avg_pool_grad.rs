//! Twin of `shaders/avg_pool_grad.wgsl`: each pixel gets its share of every window it lies under.

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, dx] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    for p in 0..sizes.pixels() {
        for c in 0..sizes.channels {
            let slopes = sizes
                .touching(p)
                .map(|(_, m)| load(dy, m * sizes.channels + c));
            let share = slopes.sum::<f32>() / (sizes.kernel * sizes.kernel) as f32;
            store(dx, p * sizes.channels + c, share);
        }
    }
    Ok(())
}
