//! Twin of `shaders/attention_qkv_grad.wgsl`: dq = scale * ds k, dk = scale * ds^T q, dv = p^T d_o, head by head.

use super::heads::{Shape, add_scaled};
use super::words::{bind, load};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [p, ds, qkv, d_o, d_qkv] = bind(bindings)?;
    let shape = Shape::of(params)?;
    let scale = shape.scale();
    for bh in 0..shape.all_heads() {
        let (q, k) = (shape.third(qkv, bh, 0), shape.third(qkv, bh, 1));
        let d = shape.output(d_o, bh);
        let [mut dq, mut dk, mut dv] = std::array::from_fn(|_| vec![0f32; q.len()]);
        for t in 0..shape.context {
            for key in 0..=t {
                let i = (bh * shape.context + t) * shape.context + key;
                let weight = scale * load(ds, i);
                add_scaled(shape.row_mut(&mut dq, t), weight, shape.row(&k, key));
                add_scaled(shape.row_mut(&mut dk, key), weight, shape.row(&q, t));
                add_scaled(shape.row_mut(&mut dv, key), load(p, i), shape.row(&d, t));
            }
        }
        for (third, rows) in [dq, dk, dv].iter().enumerate() {
            shape.store_third(d_qkv, bh, third, rows);
        }
    }
    Ok(())
}
