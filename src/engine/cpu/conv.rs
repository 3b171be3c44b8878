//! Twin of `shaders/conv.wgsl` and `shaders/conv_register.wgsl`: y[m, o] = sum of x[pixel(m, t), c] w[t, c, o].

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
    let (out, groups) = (params.get("out_channels")?, params.get("groups")?);
    let (row0, rows) = (params.get("row0")?, params.get("rows")?);
    let (depth, span) = (sizes.channels / groups.max(1), out / groups.max(1));
    // The weights once as plain numbers: the inner loop then runs along neighbouring elements without a check.
    let weights: Vec<f32> = (0..sizes.kernel * sizes.kernel * depth * out)
        .map(|i| load(w, i))
        .collect();
    let mut sums = vec![0f32; out];
    for m in row0..(row0 + rows).min(sizes.out_pixels()) {
        sums.fill(0.0);
        for (tap, pixel) in sizes.taps(m) {
            for group in 0..groups {
                let sums = &mut sums[group * span..(group + 1) * span];
                for c in 0..depth {
                    let factor = load(x, pixel * sizes.channels + group * depth + c);
                    let from = (tap * depth + c) * out + group * span;
                    for (sum, weight) in sums.iter_mut().zip(&weights[from..from + span]) {
                        *sum += factor * weight;
                    }
                }
            }
        }
        for (o, sum) in sums.iter().enumerate() {
            store(y, m * out + o, *sum);
        }
    }
    Ok(())
}
