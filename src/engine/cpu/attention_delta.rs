//! Twin of `shaders/attention_delta.wgsl`: delta[h, t] = dot(d_o[t], o[t]) over the columns of head h.

use super::heads::{Shape, dot};
use super::words::{bind, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [d_o, o, delta] = bind(bindings)?;
    let shape = Shape::of(params)?;
    for bh in 0..shape.all_heads() {
        let (d, out) = (shape.output(d_o, bh), shape.output(o, bh));
        for t in 0..shape.context {
            let sum = dot(shape.row(&d, t), shape.row(&out, t));
            store(delta, bh * shape.context + t, sum);
        }
    }
    Ok(())
}
