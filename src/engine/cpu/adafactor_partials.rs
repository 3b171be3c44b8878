//! Twin of `shaders/adafactor_partials.wgsl`: sums of squares of the raw update and of the weights, in 64 shares each.

use super::adafactor::{SHARES, bind_second};
use super::words::{load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

/// Neighbouring elements of one share: the shader's 64 invocations with four elements each.
const CHUNK: usize = 64 * 4;

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let ([norm, g, w], second, partials) = bind_second(variant, params, bindings)?;
    let mut sums = [0f64; 2 * SHARES];
    for e in 0..params.get("n")? {
        let share = (e / CHUNK) % SHARES;
        let u = f64::from(load(norm, 1) * load(g, e) / second.root(e));
        let weight = f64::from(load(w, e));
        sums[share] += u * u;
        sums[SHARES + share] += weight * weight;
    }
    for (i, sum) in sums.into_iter().enumerate() {
        store(partials, i, sum as f32);
    }
    Ok(())
}
