//! Twin of `shaders/global_pool.wgsl`: the mean over the pixels of each picture.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let (batch, positions) = (params.get("batch")?, params.get("positions")?);
    let channels = params.get("channels")?;
    for n in 0..batch {
        for c in 0..channels {
            let pixels = (0..positions).map(|p| load(x, (n * positions + p) * channels + c));
            let mean = pixels.map(f64::from).sum::<f64>() / positions as f64;
            store(y, n * channels + c, mean as f32);
        }
    }
    Ok(())
}
