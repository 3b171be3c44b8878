//! Twin of `shaders/correct.wgsl`: whether the largest logit of each row stands at its label.

use super::words::{bind, load, load_u32, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [logits, labels, hits] = bind(bindings)?;
    let (rows, classes) = (params.get("rows")?, params.get("classes")?);
    for r in 0..rows {
        let first = r * classes;
        let mut best = 0;
        let mut has_nan = false;
        for c in 0..classes {
            let logit = load(logits, first + c);
            has_nan |= logit.is_nan();
            // Strictly greater: the first of equal logits counts.
            if logit > load(logits, first + best) {
                best = c;
            }
        }
        let hit = best == load_u32(labels, r) as usize && !has_nan;
        store(hits, r, if hit { 1.0 } else { 0.0 });
    }
    Ok(())
}
