//! Twin of `shaders/channel_scale.wgsl`: y[n, p, c] = x[n, p, c] s[n, c].

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, s, y] = operands(variant, bindings)?;
    let (batch, positions) = (params.get("batch")?, params.get("positions")?);
    let channels = params.get("channels")?;
    for n in 0..batch {
        for p in 0..positions {
            for c in 0..channels {
                let i = (n * positions + p) * channels + c;
                store(y, i, load(x, i) * load(s, n * channels + c));
            }
        }
    }
    Ok(())
}
