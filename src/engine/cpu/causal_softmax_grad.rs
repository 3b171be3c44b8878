//! Twin of `shaders/causal_softmax_grad.wgsl`: ds = p * (dp - sum of p * dp) over the columns up to r % context, 0 elsewhere.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dp, p, ds] = operands(variant, bindings)?;
    let context = params.get("context")?;
    for r in 0..params.get("rows")? {
        let first = r * context;
        let end = first + r % context + 1;
        let sum: f64 = (first..end)
            .map(|i| f64::from(load(p, i)) * f64::from(load(dp, i)))
            .sum();
        for i in first..end {
            store(ds, i, load(p, i) * (load(dp, i) - sum as f32));
        }
        for i in end..first + context {
            store(ds, i, 0.0);
        }
    }
    Ok(())
}
