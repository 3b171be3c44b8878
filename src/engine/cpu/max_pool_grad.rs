//! Twin of `shaders/max_pool_grad.wgsl`: the gradient of each window goes to its first largest value.

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, dx] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    let channels = sizes.channels;
    for i in 0..sizes.pixels() * channels {
        store(dx, i, 0.0);
    }
    for m in 0..sizes.out_pixels() {
        for c in 0..channels {
            let value = |p: usize| load(x, p * channels + c);
            let pixels = sizes.taps(m).map(|(_, p)| p);
            // Strictly greater: the first of equal values counts.
            if let Some(p) = pixels.reduce(|a, b| if value(b) > value(a) { b } else { a }) {
                let i = p * channels + c;
                store(dx, i, load(dx, i) + load(dy, m * channels + c));
            }
        }
    }
    Ok(())
}
