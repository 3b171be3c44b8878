//! Twin of `shaders/attention_mix_grad.wgsl`: dp = d_o v^T for key <= t, 0 elsewhere.

use super::heads::{Shape, dot};
use super::words::{bind, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [d_o, qkv, dp] = bind(bindings)?;
    let shape = Shape::of(params)?;
    let context = shape.context;
    for bh in 0..shape.all_heads() {
        let (d, v) = (shape.output(d_o, bh), shape.third(qkv, bh, 2));
        for t in 0..context {
            let row = (bh * context + t) * context;
            for key in 0..=t {
                store(dp, row + key, dot(shape.row(&d, t), shape.row(&v, key)));
            }
            for key in t + 1..context {
                store(dp, row + key, 0.0);
            }
        }
    }
    Ok(())
}
