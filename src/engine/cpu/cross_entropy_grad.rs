//! Twin of `shaders/cross_entropy_grad.wgsl`: dlogits = (softmax - one-hot) * step.inv_samples.

use super::words::{load, load_u32, operands, store};
use crate::engine::kernel::{IGNORE, KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [logits, labels, lse, dlogits] = operands(variant, bindings)?;
    let (rows, classes) = (params.get("rows")?, params.get("classes")?);
    for r in 0..rows {
        let label = load_u32(labels, r);
        for c in 0..classes {
            let i = r * classes + c;
            let target_probability = if c == label as usize { 1.0 } else { 0.0 };
            let d =
                ((load(logits, i) - load(lse, r)).exp() - target_probability) * step.inv_samples;
            store(dlogits, i, if label == IGNORE { 0.0 } else { d });
        }
    }
    Ok(())
}
