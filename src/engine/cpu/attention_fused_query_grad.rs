//! Twin of `shaders/attention_fused_query_grad.wgsl`: dq[t] = scale * sum of p * (dp - delta[t]) * k[key], p recomputed.

use super::heads::{Shape, add_scaled, dot};
use super::words::{bind, load};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [qkv, d_o, lse, delta, d_qkv] = bind(bindings)?;
    let shape = Shape::of(params)?;
    let scale = shape.scale();
    for bh in 0..shape.all_heads() {
        let [q, k, v] = std::array::from_fn(|third| shape.third(qkv, bh, third));
        let d = shape.output(d_o, bh);
        let mut dq = vec![0f32; q.len()];
        for t in 0..shape.context {
            let row = bh * shape.context + t;
            for key in 0..=t {
                let product = dot(shape.row(&q, t), shape.row(&k, key));
                let p = (scale * product - load(lse, row)).exp();
                let dp = dot(shape.row(&d, t), shape.row(&v, key));
                let weight = scale * p * (dp - load(delta, row));
                add_scaled(shape.row_mut(&mut dq, t), weight, shape.row(&k, key));
            }
        }
        shape.store_third(d_qkv, bh, 0, &dq);
    }
    Ok(())
}
