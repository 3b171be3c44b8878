//! Twin of `shaders/dequantize_i8.wgsl`: x = q * scale.

use super::bytes;
use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [codes, scales, x] = bind(bindings)?;
    let block = params.get("block")?;
    for i in 0..params.get("n")? {
        store(x, i, bytes::signed(codes, i) * load(scales, i / block));
    }
    Ok(())
}
