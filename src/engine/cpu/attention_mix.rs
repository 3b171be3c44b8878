//! Twin of `shaders/attention_mix.wgsl`: o[t] = sum over key <= t of p[t, key] * v[key].

use super::heads::{Shape, add_scaled};
use super::words::{bind, load};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [p, qkv, o] = bind(bindings)?;
    let shape = Shape::of(params)?;
    for bh in 0..shape.all_heads() {
        let v = shape.third(qkv, bh, 2);
        let mut out = vec![0f32; v.len()];
        for t in 0..shape.context {
            let row = (bh * shape.context + t) * shape.context;
            for key in 0..=t {
                let sums = shape.row_mut(&mut out, t);
                add_scaled(sums, load(p, row + key), shape.row(&v, key));
            }
        }
        shape.store_output(o, bh, &out);
    }
    Ok(())
}
