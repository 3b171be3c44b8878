//! Twin of `shaders/cross_entropy.wgsl`: loss[r] = lse[r] - logits[r, label[r]], with a stable log-sum-exp.

use super::words::{bind, load, load_u32, store};
use crate::engine::kernel::{IGNORE, KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [logits, labels, loss, lse] = bind(bindings)?;
    let (rows, classes) = (params.get("rows")?, params.get("classes")?);
    for r in 0..rows {
        let row = || (0..classes).map(|c| f64::from(load(logits, r * classes + c)));
        let largest = row().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = row().map(|x| (x - largest).exp()).sum::<f64>().ln();
        store(lse, r, (largest + log_sum) as f32);

        let label = load_u32(labels, r);
        let value = if label == IGNORE {
            0.0
        } else if label as usize >= classes {
            f64::NAN
        } else {
            (largest - f64::from(load(logits, r * classes + label as usize))) + log_sum
        };
        store(loss, r, value as f32);
    }
    Ok(())
}
