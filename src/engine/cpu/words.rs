//! What all twins share: reading buffers as numbers, and the conventions of variants and accumulation.

use crate::engine::kernel::{KernelError, Params, Step, Words};
#[cfg(test)]
use std::cell::Cell;

/// Whether `variant` (`tanh+in_place`) switches on `feature`.
pub(super) fn has(variant: &str, feature: &str) -> bool {
    variant.split('+').any(|f| f == feature)
}

/// The buffers of a launch, by number.
///
/// # Errors
/// [`KernelError::Bindings`] if there are not N.
pub(super) fn bind<'a, const N: usize>(
    bindings: &[&'a Words],
) -> Result<[&'a Words; N], KernelError> {
    bindings.try_into().map_err(|_| KernelError::Bindings {
        kernel: "(twin)".into(),
        expected: N,
        got: bindings.len(),
    })
}

/// The N operands of a kernel with an in-place variant. There, binding 0 is dropped and the output, which comes last,
/// takes its place: the twin then reads and writes one buffer under two names.
///
/// # Errors
/// [`KernelError::Bindings`] if their number is not the one the variant declares.
pub(super) fn operands<'a, const N: usize>(
    variant: &str,
    bindings: &[&'a Words],
) -> Result<[&'a Words; N], KernelError> {
    match bindings.last() {
        Some(output) if has(variant, "in_place") => {
            let all: Vec<&Words> = std::iter::once(*output)
                .chain(bindings.iter().copied())
                .collect();
            bind(&all)
        }
        _ => bind(bindings),
    }
}

/// Element i as a float.
pub(super) fn load(words: &Words, i: usize) -> f32 {
    f32::from_bits(words[i].get())
}

/// Element i as an integer: a label.
pub(super) fn load_u32(words: &Words, i: usize) -> u32 {
    words[i].get()
}

/// Sets element i to a float.
pub(super) fn store(words: &Words, i: usize, value: f32) {
    words[i].set(value.to_bits());
}

/// Whether `norm_finish` asks the optimizers to leave everything as it is: `norm[2] != 0` of their first buffer.
pub(super) fn is_skipped(norm: &Words) -> bool {
    load(norm, 2) != 0.0
}

/// Whether a gradient is added to what the output holds: `adds_to_output` of `shaders/lib/accumulate.wgsl`.
///
/// # Errors
/// [`KernelError::Param`] if the launch does not set `accumulate`.
pub(super) fn adds_to_output(params: &Params, step: &Step) -> Result<bool, KernelError> {
    let mode = params.get("accumulate")?;
    Ok(mode == 2 || (mode == 1 && step.micro > 0))
}

/// A buffer of these floats, for the tests of the twins.
#[cfg(test)]
pub(super) fn cells(values: &[f32]) -> Vec<Cell<u32>> {
    values.iter().map(|v| Cell::new(v.to_bits())).collect()
}

/// All of a buffer as floats, for the tests of the twins.
#[cfg(test)]
pub(super) fn floats(words: &Words) -> Vec<f32> {
    (0..words.len()).map(|i| load(words, i)).collect()
}

/// What `norm_finish` would leave for update t of Adam with these betas and this factor, for the tests of the twins.
#[cfg(test)]
pub(super) fn norm_of_update(t: i32, factor: f32, beta1: f32, beta2: f32) -> Vec<Cell<u32>> {
    let bias = |beta: f32| (1.0 - f64::from(beta).powi(t)) as f32;
    cells(&[
        1.0,
        factor,
        0.0,
        bias(beta1),
        bias(beta2),
        t as f32,
        1.0,
        0.0,
    ])
}

/// The norm of a gradient that is to be skipped, for the tests of the twins.
#[cfg(test)]
pub(super) fn norm_of_skip() -> Vec<Cell<u32>> {
    cells(&[f32::NAN, 0.0, 1.0, 0.1, 0.001, 1.0, 65536.0, 0.0])
}

/// Fails unless the numbers agree to about six digits.
#[cfg(test)]
pub(super) fn assert_near(got: &[f32], expected: &[f32]) {
    let near = got
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0));
    assert!(
        near && got.len() == expected.len(),
        "got {got:?}, expected {expected:?}"
    );
}
