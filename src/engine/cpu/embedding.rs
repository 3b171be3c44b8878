//! Twin of `shaders/embedding.wgsl`: y[r] = table[tokens[r]], a row of NaN for a token that is not in the table.

use super::words::{bind, load, load_u32, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [tokens, table, y] = bind(bindings)?;
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let vocabulary = params.get("vocabulary")?;
    for r in 0..rows {
        let token = load_u32(tokens, r) as usize;
        for c in 0..cols {
            let known = token < vocabulary;
            let value = if known {
                load(table, token * cols + c)
            } else {
                f32::NAN
            };
            store(y, r * cols + c, value);
        }
    }
    Ok(())
}
