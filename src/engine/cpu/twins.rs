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
#[path = "attention_delta.rs"]
mod attention_delta;
#[path = "attention_fused.rs"]
mod attention_fused;
#[path = "attention_fused_key_value_grad.rs"]
mod attention_fused_key_value_grad;
#[path = "attention_fused_query_grad.rs"]
mod attention_fused_query_grad;
#[path = "attention_mix.rs"]
mod attention_mix;
#[path = "attention_mix_grad.rs"]
mod attention_mix_grad;
#[path = "attention_qkv_grad.rs"]
mod attention_qkv_grad;
#[path = "attention_scores.rs"]
mod attention_scores;
#[path = "avg_pool.rs"]
mod avg_pool;
#[path = "avg_pool_grad.rs"]
mod avg_pool_grad;
#[path = "batch_moments.rs"]
mod batch_moments;
#[path = "batch_moments_finish.rs"]
mod batch_moments_finish;
#[path = "batch_norm.rs"]
mod batch_norm;
#[path = "batch_norm_grad.rs"]
mod batch_norm_grad;
#[path = "batch_norm_grad_partials.rs"]
mod batch_norm_grad_partials;
#[path = "bias.rs"]
mod bias;
#[path = "broadcast.rs"]
mod broadcast;
#[path = "cast.rs"]
mod cast;
#[path = "causal_softmax.rs"]
mod causal_softmax;
#[path = "causal_softmax_grad.rs"]
mod causal_softmax_grad;
#[path = "channel_scale.rs"]
mod channel_scale;
#[path = "channel_scale_grad.rs"]
mod channel_scale_grad;
#[path = "conv.rs"]
mod conv;
#[path = "conv_input_grad.rs"]
mod conv_input_grad;
#[path = "conv_weight_grad.rs"]
mod conv_weight_grad;
#[path = "correct.rs"]
mod correct;
#[path = "cross_entropy.rs"]
mod cross_entropy;
#[path = "cross_entropy_grad.rs"]
mod cross_entropy_grad;
#[path = "depthwise.rs"]
mod depthwise;
#[path = "depthwise_input_grad.rs"]
mod depthwise_input_grad;
#[path = "depthwise_weight_grad.rs"]
mod depthwise_weight_grad;
#[path = "dropout.rs"]
mod dropout;
#[path = "embedding.rs"]
mod embedding;
#[path = "embedding_grad.rs"]
mod embedding_grad;
#[path = "fill.rs"]
mod fill;
#[path = "gelu.rs"]
mod gelu;
#[path = "gelu_grad.rs"]
mod gelu_grad;
#[path = "global_pool.rs"]
mod global_pool;
#[path = "global_pool_grad.rs"]
mod global_pool_grad;
#[path = "heads.rs"]
mod heads;
#[path = "layer_norm.rs"]
mod layer_norm;
#[path = "layer_norm_grad.rs"]
mod layer_norm_grad;
#[path = "layer_norm_grad_partials.rs"]
mod layer_norm_grad_partials;
#[path = "matmul.rs"]
mod matmul;
#[path = "max_pool.rs"]
mod max_pool;
#[path = "max_pool_grad.rs"]
mod max_pool_grad;
#[path = "momentum.rs"]
mod momentum;
#[path = "norm_finish.rs"]
mod norm_finish;
#[path = "norm_partials.rs"]
mod norm_partials;
#[path = "pick_row.rs"]
mod pick_row;
#[path = "reduce.rs"]
mod reduce;
#[path = "relu.rs"]
mod relu;
#[path = "relu6.rs"]
mod relu6;
#[path = "relu6_grad.rs"]
mod relu6_grad;
#[path = "relu_grad.rs"]
mod relu_grad;
#[path = "rotary.rs"]
mod rotary;
#[path = "scale.rs"]
mod scale;
#[path = "sgd.rs"]
mod sgd;
#[path = "sigmoid.rs"]
mod sigmoid;
#[path = "sigmoid_grad.rs"]
mod sigmoid_grad;
#[path = "silu.rs"]
mod silu;
#[path = "silu_grad.rs"]
mod silu_grad;
#[path = "swiglu.rs"]
mod swiglu;
#[path = "swiglu_grad.rs"]
mod swiglu_grad;
#[path = "window.rs"]
mod window;
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
        "attention_delta" => attention_delta::run,
        "attention_fused" => attention_fused::run,
        "attention_fused_key_value_grad" => attention_fused_key_value_grad::run,
        "attention_fused_query_grad" => attention_fused_query_grad::run,
        "attention_mix" => attention_mix::run,
        "attention_mix_grad" => attention_mix_grad::run,
        "attention_qkv_grad" => attention_qkv_grad::run,
        "attention_scores" => attention_scores::run,
        "avg_pool" => avg_pool::run,
        "avg_pool_grad" => avg_pool_grad::run,
        "batch_moments" => batch_moments::run,
        "batch_moments_finish" => batch_moments_finish::run,
        "batch_norm" => batch_norm::run,
        "batch_norm_grad" => batch_norm_grad::run,
        "batch_norm_grad_partials" => batch_norm_grad_partials::run,
        "bias" => bias::run,
        "broadcast" => broadcast::run,
        "cast" => cast::run,
        "causal_softmax" => causal_softmax::run,
        "causal_softmax_grad" => causal_softmax_grad::run,
        "channel_scale" => channel_scale::run,
        "channel_scale_grad" => channel_scale_grad::run,
        "conv" | "conv_register" => conv::run,
        "conv_input_grad" | "conv_input_grad_register" => conv_input_grad::run,
        "conv_weight_grad" | "conv_weight_grad_register" => conv_weight_grad::run,
        "correct" => correct::run,
        "cross_entropy" => cross_entropy::run,
        "cross_entropy_grad" => cross_entropy_grad::run,
        "depthwise" => depthwise::run,
        "depthwise_input_grad" => depthwise_input_grad::run,
        "depthwise_weight_grad" => depthwise_weight_grad::run,
        "dropout" => dropout::run,
        "embedding" => embedding::run,
        "embedding_grad" => embedding_grad::run,
        "fill" => fill::run,
        "gelu" => gelu::run,
        "gelu_grad" => gelu_grad::run,
        "global_pool" => global_pool::run,
        "global_pool_grad" => global_pool_grad::run,
        "layer_norm" => layer_norm::run,
        "layer_norm_grad" => layer_norm_grad::run,
        "layer_norm_grad_partials" => layer_norm_grad_partials::run,
        "max_pool" => max_pool::run,
        "max_pool_grad" => max_pool_grad::run,
        "momentum" => momentum::run,
        "norm_finish" => norm_finish::run,
        "norm_partials" => norm_partials::run,
        "pick_row" => pick_row::run,
        "reduce" => reduce::run,
        "relu" => relu::run,
        "relu6" => relu6::run,
        "relu6_grad" => relu6_grad::run,
        "relu_grad" => relu_grad::run,
        "rotary" => rotary::run,
        "scale" => scale::run,
        "sgd" => sgd::run,
        "sigmoid" => sigmoid::run,
        "sigmoid_grad" => sigmoid_grad::run,
        "silu" => silu::run,
        "silu_grad" => silu_grad::run,
        "swiglu" => swiglu::run,
        "swiglu_grad" => swiglu_grad::run,
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
