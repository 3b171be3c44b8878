//! Twin of `shaders/conv_weight_grad.wgsl` and `shaders/conv_weight_grad_register.wgsl`: dw[s, t, c, o] = sum of x[pixel(m, t), c] dy[m, o].

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
    let (out, groups) = (params.get("out_channels")?, params.get("groups")?);
    let (row0, rows, splits) = (
        params.get("row0")?,
        params.get("rows")?,
        params.get("splits")?,
    );
    let (depth, span) = (sizes.channels / groups.max(1), out / groups.max(1));
    let weights = sizes.kernel * sizes.kernel * depth * out;
    let (mut sums, mut slopes) = (vec![0f32; weights], vec![0f32; out]);
    for part in row0..(row0 + rows).min(splits) {
        sums.fill(0.0);
        for m in sizes.part(part, splits) {
            for (o, slope) in slopes.iter_mut().enumerate() {
                *slope = load(dy, m * out + o);
            }
            for (tap, pixel) in sizes.taps(m) {
                for c in 0..depth {
                    for group in 0..groups {
                        let factor = load(x, pixel * sizes.channels + group * depth + c);
                        let from = (tap * depth + c) * out + group * span;
                        let slopes = &slopes[group * span..(group + 1) * span];
                        for (sum, slope) in sums[from..from + span].iter_mut().zip(slopes) {
                            *sum += factor * slope;
                        }
                    }
                }
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            store(dw, part * weights + i, *sum);
        }
    }
    Ok(())
}
