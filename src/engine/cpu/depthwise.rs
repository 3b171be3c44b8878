//! Twin of `shaders/depthwise.wgsl`: y[m, c] = sum over taps of x[pixel(m, t), c] w[t, c].

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, w, y] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    let channels = sizes.channels;
    let mut sums = vec![0f32; channels];
    for m in 0..sizes.out_pixels() {
        sums.fill(0.0);
        for (tap, pixel) in sizes.taps(m) {
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum += load(x, pixel * channels + c) * load(w, tap * channels + c);
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            store(y, m * channels + c, *sum);
        }
    }
    Ok(())
}
