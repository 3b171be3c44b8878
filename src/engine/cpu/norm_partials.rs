//! Twin of `shaders/norm_partials.wgsl`: sums of squares of 64 fixed shares of a tensor.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

/// Shares of a tensor, one per workgroup.
const SHARES: usize = 64;
/// Neighbouring elements of one share: the shader's 64 invocations with four elements each.
const CHUNK: usize = 64 * 4;

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, partials] = bind(bindings)?;
    let mut sums = [0f64; SHARES];
    for e in 0..params.get("n")? {
        let v = f64::from(load(x, e));
        sums[(e / CHUNK) % SHARES] += v * v;
    }
    let offset = params.get("offset")?;
    for (g, sum) in sums.into_iter().enumerate() {
        store(partials, offset + g, sum as f32);
    }
    Ok(())
}
