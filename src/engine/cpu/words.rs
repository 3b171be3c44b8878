//! What all twins share: reading buffers as numbers, and the conventions of variants and accumulation.

use crate::engine::kernel::{KernelError, Params, Step, Words};

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

/// Whether a gradient is added to what the output holds: `adds_to_output` of `shaders/lib/accumulate.wgsl`.
///
/// # Errors
/// [`KernelError::Param`] if the launch does not set `accumulate`.
pub(super) fn adds_to_output(params: &Params, step: &Step) -> Result<bool, KernelError> {
    let mode = params.get("accumulate")?;
    Ok(mode == 2 || (mode == 1 && step.micro > 0))
}
