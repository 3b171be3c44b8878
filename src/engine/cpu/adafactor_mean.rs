//! Twin of `shaders/adafactor_mean.wgsl`: the mean of the row averages of each matrix.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [r, m] = bind(bindings)?;
    let rows = params.get("rows")?;
    for b in 0..params.get("batch")? {
        let of_matrix = b * rows..(b + 1) * rows;
        let sum: f64 = of_matrix.map(|i| f64::from(load(r, i))).sum();
        store(m, b, (sum / rows as f64) as f32);
    }
    Ok(())
}
