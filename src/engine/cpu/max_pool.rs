//! Twin of `shaders/max_pool.wgsl`: the largest value under each window.

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
            let larger = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
            store(
                y,
                m * sizes.channels + c,
                values.reduce(larger).unwrap_or(0.0),
            );
        }
    }
    Ok(())
}
