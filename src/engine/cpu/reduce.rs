//! Twin of `shaders/reduce.wgsl`: sums of a matrix along one side or both. The sums are kept in F64, so that the twin
//! is the more exact of the two.

use super::words::{adds_to_output, bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let per_sample = params.get("per_sample")? == 1;
    let factor = params.get_f32("factor")? * if per_sample { step.inv_samples } else { 1.0 };
    let adds = adds_to_output(params, step)?;
    let count = match variant {
        "rows" => cols,
        "cols" => rows,
        _ => 1,
    };
    let mut sums = vec![0f64; count];
    for r in 0..rows {
        for c in 0..cols {
            let target = match variant {
                "rows" => c,
                "cols" => r,
                _ => 0,
            };
            sums[target] += f64::from(load(x, r * cols + c));
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let value = factor * sum as f32;
        store(y, i, if adds { load(y, i) + value } else { value });
    }
    Ok(())
}
