//! Twin of `shaders/conv_input_grad.wgsl` and `shaders/conv_input_grad_register.wgsl`: dx[p, c] = sum of dy[m, o] w[t, c, o].

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
    let (out, groups) = (params.get("out_channels")?, params.get("groups")?);
    let (row0, rows) = (params.get("row0")?, params.get("rows")?);
    let (depth, span) = (sizes.channels / groups.max(1), out / groups.max(1));
    // Turned, with the input channels side by side: the inner loop then runs along neighbouring elements.
    let n_taps = sizes.kernel * sizes.kernel;
    let mut turned = vec![0f32; n_taps * out * depth];
    for tap in 0..n_taps {
        for o in 0..out {
            for c in 0..depth {
                turned[(tap * out + o) * depth + c] = load(w, (tap * depth + c) * out + o);
            }
        }
    }
    let mut sums = vec![0f32; sizes.channels];
    for p in row0..(row0 + rows).min(sizes.pixels()) {
        sums.fill(0.0);
        for (tap, m) in sizes.touching(p) {
            for o in 0..out {
                let factor = load(dy, m * out + o);
                let first = o / span * depth;
                let from = (tap * out + o) * depth;
                let weights = &turned[from..from + depth];
                for (sum, weight) in sums[first..first + depth].iter_mut().zip(weights) {
                    *sum += factor * weight;
                }
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            store(dx, p * sizes.channels + c, *sum);
        }
    }
    Ok(())
}
