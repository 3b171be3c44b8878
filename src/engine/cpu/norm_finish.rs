//! Twin of `shaders/norm_finish.wgsl`: the global norm and the factor that clips the gradient.

use super::words::{bind, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [partials, norm] = bind(bindings)?;
    let sum: f64 = (0..params.get("count")?)
        .map(|i| f64::from(load(partials, i)))
        .sum();
    // Rounded before the test: a sum past the largest F32 counts as not finite, as it does in the shader.
    let length = (sum as f32).sqrt();
    store(norm, 0, length);
    store(norm, 1, clip_factor(length, step.max_norm));
    Ok(())
}

fn clip_factor(length: f32, max_norm: f32) -> f32 {
    if max_norm == 0.0 {
        return 1.0;
    }
    if !length.is_finite() {
        return f32::NAN;
    }
    (max_norm / (length + 1e-6)).min(1.0)
}
