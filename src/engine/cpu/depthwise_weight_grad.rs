//! Twin of `shaders/depthwise_weight_grad.wgsl`: dw[s, t, c] = sum over the pixels of part s of x[pixel(m, t), c] dy[m, c].

use super::window::Sizes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, dy, dw] = bind(bindings)?;
    let sizes = Sizes::of(params)?;
    let (channels, splits) = (sizes.channels, params.get("splits")?);
    let weights = sizes.kernel * sizes.kernel * channels;
    let mut sums = vec![0f32; weights];
    for part in 0..splits {
        sums.fill(0.0);
        for m in sizes.part(part, splits) {
            for (tap, pixel) in sizes.taps(m) {
                let sums = &mut sums[tap * channels..(tap + 1) * channels];
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum += load(x, pixel * channels + c) * load(dy, m * channels + c);
                }
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            store(dw, part * weights + i, *sum);
        }
    }
    Ok(())
}
