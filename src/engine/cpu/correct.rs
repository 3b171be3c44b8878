//! Twin of `shaders/correct.wgsl`: whether each row's label is among its k largest logits.

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
    let k = params.get("k")?;
    for r in 0..rows {
        let row: Vec<f32> = (0..classes)
            .map(|c| load(logits, r * classes + c))
            .collect();
        let label = load_u32(labels, r) as usize;
        let hit = row.get(label).is_some_and(|own| {
            let comes_before =
                |(c, logit): (usize, &f32)| logit > own || (logit == own && c < label);
            let before = row.iter().enumerate().filter(|pair| comes_before(*pair));
            before.count() < k && !row.iter().any(|logit| logit.is_nan())
        });
        store(hits, r, if hit { 1.0 } else { 0.0 });
    }
    Ok(())
}
