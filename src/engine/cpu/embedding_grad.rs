//! Twin of `shaders/embedding_grad.wgsl`: d_table[v] = sum of the rows of dy whose token is v, which `order` and `starts`
//! list.

use super::words::{adds_to_output, bind, load, load_u32, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [dy, order, starts, d_table] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let vocabulary = params.get("vocabulary")?;
    let adds = adds_to_output(params, step)?;
    let mut sums = vec![0f64; cols];
    for token in 0..vocabulary {
        let (first, end) = (load_u32(starts, token), load_u32(starts, token + 1));
        sums.fill(0.0);
        for at in first as usize..rows.min(end as usize) {
            let r = load_u32(order, at) as usize;
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum += f64::from(load(dy, r * cols + c));
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            let (i, value) = (token * cols + c, *sum as f32);
            store(
                d_table,
                i,
                if adds {
                    load(d_table, i) + value
                } else {
                    value
                },
            );
        }
    }
    Ok(())
}
