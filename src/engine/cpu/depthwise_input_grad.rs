//! Twin of `shaders/depthwise_input_grad.wgsl`: dx[p, c] = sum over taps of dy[m, c] w[t, c].

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, w, dx] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    let channels = sizes.channels;
    let mut sums = vec![0f32; channels];
    for p in 0..sizes.pixels() {
        sums.fill(0.0);
        for (tap, m) in sizes.touching(p) {
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum += load(dy, m * channels + c) * load(w, tap * channels + c);
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            store(dx, p * channels + c, *sum);
        }
    }
    Ok(())
}
