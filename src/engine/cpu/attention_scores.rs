//! Twin of `shaders/attention_scores.wgsl`: s = scale * q k^T for key <= t, 0 elsewhere.

use super::heads::{Shape, dot};
use super::words::{bind, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [qkv, s] = bind(bindings)?;
    let shape = Shape::of(params)?;
    let (context, scale) = (shape.context, shape.scale());
    for bh in 0..shape.all_heads() {
        let (q, k) = (shape.third(qkv, bh, 0), shape.third(qkv, bh, 1));
        for t in 0..context {
            let row = (bh * context + t) * context;
            for key in 0..=t {
                let product = dot(shape.row(&q, t), shape.row(&k, key));
                store(s, row + key, scale * product);
            }
            for key in t + 1..context {
                store(s, row + key, 0.0);
            }
        }
    }
    Ok(())
}
