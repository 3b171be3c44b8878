//! Twin of `shaders/attention_fused.wgsl`: o[t] = softmax(scale * q[t] k^T) v over the keys up to t, and its log-sum-exp.
//!
//! The scores of one query at a time are held, so its softmax needs no correction on the way.

use super::heads::{Shape, add_scaled, dot};
use super::words::{bind, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [qkv, o, lse] = bind(bindings)?;
    let shape = Shape::of(params)?;
    let scale = shape.scale();
    let mut scores = vec![0f32; shape.context];
    for bh in 0..shape.all_heads() {
        let [q, k, v] = std::array::from_fn(|third| shape.third(qkv, bh, third));
        let mut out = vec![0f32; q.len()];
        for t in 0..shape.context {
            let scores = &mut scores[..=t];
            for (key, score) in scores.iter_mut().enumerate() {
                *score = scale * dot(shape.row(&q, t), shape.row(&k, key));
            }
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|s| *s = (*s - largest).exp());
            let sum: f64 = scores.iter().map(|e| f64::from(*e)).sum();
            for (key, e) in scores.iter().enumerate() {
                let p = (f64::from(*e) / sum) as f32;
                add_scaled(shape.row_mut(&mut out, t), p, shape.row(&v, key));
            }
            let log_sum = f64::from(largest) + sum.ln();
            store(lse, bh * shape.context + t, log_sum as f32);
        }
        shape.store_output(o, bh, &out);
    }
    Ok(())
}
