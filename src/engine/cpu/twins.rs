//! The CPU twins of the kernels in `shaders/`: plain loops with the file stems of their shaders.
//!
//! A twin is the oracle its shader is tested against, and what the CPU engine runs where there is no adapter. It takes
//! the buffers in the shader's order and is written to be read beside the shader, not to be fast; `matmul`, where the
//! time of a CPU run goes, is the one exception.

use crate::engine::kernel::{self, KernelError, Params, Step, Words};

#[path = "adam.rs"]
mod adam;
#[path = "add.rs"]
mod add;
#[path = "bias.rs"]
mod bias;
#[path = "broadcast.rs"]
mod broadcast;
#[path = "cast.rs"]
mod cast;
#[path = "correct.rs"]
mod correct;
#[path = "cross_entropy.rs"]
mod cross_entropy;
#[path = "cross_entropy_grad.rs"]
mod cross_entropy_grad;
#[path = "dropout.rs"]
mod dropout;
#[path = "fill.rs"]
mod fill;
#[path = "gelu.rs"]
mod gelu;
#[path = "gelu_grad.rs"]
mod gelu_grad;
#[path = "matmul.rs"]
mod matmul;
#[path = "momentum.rs"]
mod momentum;
#[path = "norm_finish.rs"]
mod norm_finish;
#[path = "norm_partials.rs"]
mod norm_partials;
#[path = "reduce.rs"]
mod reduce;
#[path = "relu.rs"]
mod relu;
#[path = "relu_grad.rs"]
mod relu_grad;
#[path = "scale.rs"]
mod scale;
#[path = "sgd.rs"]
mod sgd;
#[path = "words.rs"]
mod words;

/// A twin: variant (the part of the kernel's name after the dot, or ""), uniform values, step, and buffers in the
/// shader's order.
///
/// A buffer shorter than the uniform values say is a defect of the launch, and the twin stops at it with a panic, as it
/// would at an index of its own that is wrong.
pub type TwinFn =
    fn(variant: &str, params: &Params, step: &Step, bindings: &[&Words]) -> Result<(), KernelError>;

/// The twin of the kernels in `shaders/<stem>.wgsl`.
pub fn twin(stem: &str) -> Option<TwinFn> {
    Some(match stem {
        // One twin for the whole ladder: the rungs differ in speed only, and must not differ in their results.
        "matmul_naive" | "matmul_tiled" | "matmul_register" => matmul::run,
        "adam" => adam::run,
        "add" => add::run,
        "bias" => bias::run,
        "broadcast" => broadcast::run,
        "cast" => cast::run,
        "correct" => correct::run,
        "cross_entropy" => cross_entropy::run,
        "cross_entropy_grad" => cross_entropy_grad::run,
        "dropout" => dropout::run,
        "fill" => fill::run,
        "gelu" => gelu::run,
        "gelu_grad" => gelu_grad::run,
        "momentum" => momentum::run,
        "norm_finish" => norm_finish::run,
        "norm_partials" => norm_partials::run,
        "reduce" => reduce::run,
        "relu" => relu::run,
        "relu_grad" => relu_grad::run,
        "scale" => scale::run,
        "sgd" => sgd::run,
        _ => return None,
    })
}

/// Runs the twin of the kernel called `name` (`relu`, `gelu.tanh+in_place`), after the checks a GPU launch gets.
///
/// # Errors
/// [`KernelError::Unknown`] for a name that `shaders/` does not hold, [`KernelError::Bindings`] for another number of
/// buffers than the shader declares, [`KernelError::Param`] if `params` are not the fields of its uniform.
pub fn run_twin(
    name: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let kernel = kernel::kernel(name)?;
    if bindings.len() != kernel.bindings.len() {
        return Err(KernelError::Bindings {
            kernel: name.into(),
            expected: kernel.bindings.len(),
            got: bindings.len(),
        });
    }
    params.bytes(kernel)?;
    let run = twin(kernel.stem).ok_or_else(|| KernelError::Unknown(name.into()))?;
    run(
        name.split_once('.').map_or("", |(_, variant)| variant),
        params,
        step,
        bindings,
    )
}
