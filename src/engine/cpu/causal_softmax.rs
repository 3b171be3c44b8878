//! Twin of `shaders/causal_softmax.wgsl`: p = exp(s - largest) / sum over the columns up to r % context, 0 elsewhere.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [s, p] = operands(variant, bindings)?;
    let context = params.get("context")?;
    for r in 0..params.get("rows")? {
        let first = r * context;
        let seen = first..=first + r % context;
        let largest = seen
            .clone()
            .map(|i| load(s, i))
            .fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0f64;
        for i in seen.clone() {
            let e = (load(s, i) - largest).exp();
            sum += f64::from(e);
            store(p, i, e);
        }
        let factor = (1.0 / sum) as f32;
        for i in first..first + context {
            store(
                p,
                i,
                if seen.contains(&i) {
                    factor * load(p, i)
                } else {
                    0.0
                },
            );
        }
    }
    Ok(())
}
