//! Twin of `shaders/channel_scale_grad.wgsl`: ds[n, c] = sum over the pixels of dy x.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, x, ds] = bind(bindings)?;
    let (batch, positions) = (params.get("batch")?, params.get("positions")?);
    let channels = params.get("channels")?;
    for n in 0..batch {
        for c in 0..channels {
            let at = |p: usize| (n * positions + p) * channels + c;
            let product = |p: usize| f64::from(load(dy, at(p))) * f64::from(load(x, at(p)));
            store(
                ds,
                n * channels + c,
                (0..positions).map(product).sum::<f64>() as f32,
            );
        }
    }
    Ok(())
}
