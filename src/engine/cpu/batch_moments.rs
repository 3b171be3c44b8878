//! Twin of `shaders/batch_moments.wgsl`: mean and summed squared distance of each column over blocks of rows.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, mean, m2] = bind(bindings)?;
    let (rows, cols, blocks) = (
        params.get("rows")?,
        params.get("cols")?,
        params.get("blocks")?,
    );
    let valid = rows.min(step.rows as usize * params.get("rows_per_sample")?);
    let share = rows.div_ceil(blocks.max(1));
    for block in 0..blocks {
        let first = (block * share).min(valid);
        let end = (first + share).min(valid);
        for c in 0..cols {
            let column = || (first..end).map(|r| f64::from(load(x, r * cols + c)));
            let center = column().sum::<f64>() / (end - first).max(1) as f64;
            let squares = column().map(|v| (v - center).powi(2)).sum::<f64>();
            store(mean, block * cols + c, center as f32);
            store(m2, block * cols + c, squares as f32);
        }
    }
    Ok(())
}
