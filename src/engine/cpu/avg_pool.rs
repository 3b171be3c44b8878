//! Twin of `shaders/avg_pool.wgsl`: the mean under each window; padding counts as zeros.

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    for m in 0..sizes.out_pixels() {
        for c in 0..sizes.channels {
            let values = sizes.taps(m).map(|(_, p)| load(x, p * sizes.channels + c));
            let mean = values.sum::<f32>() / (sizes.kernel * sizes.kernel) as f32;
            store(y, m * sizes.channels + c, mean);
        }
    }
    Ok(())
}
