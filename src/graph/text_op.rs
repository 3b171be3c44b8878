//! The operations of language models. Activations are [sequences * context, width]; queries, keys and values lie side
//! by side in one value [sequences * context, 3 * width], each head after head.

use super::Accumulate;

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Positions of a sequence.
    pub context: usize,
    /// Number of heads; they share the width evenly.
    pub heads: usize,
}

/// Which normalisation of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNorm {
    /// Mean and variance (Ba et al. 2016, arXiv:1607.06450).
    Layer,
    /// Root mean square only (Zhang and Sennrich 2019, arXiv:1910.07467).
    Rms,
}

/// A layer of a language model, or a part of its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextOp {
    /// The rows of a table that tokens name.
    Embedding,
    /// Gradient of [`TextOp::Embedding`] by the table.
    EmbeddingGrad {
        /// Whether the table's gradient is overwritten or added to.
        accumulate: Accumulate,
    },
    /// Normalises each row and keeps its statistics.
    Norm {
        /// Which one.
        norm: RowNorm,
        /// Added to the variance.
        eps: f32,
    },
    /// Gradient of [`TextOp::Norm`] by its input.
    NormGrad {
        /// Which one.
        norm: RowNorm,
    },
    /// Partial sums for the gradients by scale and shift of [`TextOp::Norm`].
    NormGradPartials {
        /// Which one.
        norm: RowNorm,
    },
    /// Turns queries and keys by angles that grow with their position (Su et al. 2021, arXiv:2104.09864).
    Rotary {
        /// The heads.
        heads: Heads,
        /// Turns back: the gradient.
        inverse: bool,
    },
    /// All products of a query and an earlier key, scaled: [sequences * heads, context, context].
    AttentionScores(Heads),
    /// Softmax of each row over the keys it may see.
    CausalSoftmax {
        /// Positions of a sequence.
        context: usize,
    },
    /// Gradient of [`TextOp::CausalSoftmax`] from its output.
    CausalSoftmaxGrad {
        /// Positions of a sequence.
        context: usize,
    },
    /// Values mixed by the softmax of the scores.
    AttentionMix(Heads),
    /// Gradient of [`TextOp::AttentionMix`] by the softmax.
    AttentionMixGrad(Heads),
    /// Gradient of plain attention by queries, keys and values.
    AttentionQkvGrad(Heads),
    /// Attention that keeps no scores (Dao 2023, arXiv:2307.08691): output and log-sum-exp.
    AttentionFused(Heads),
    /// Products of output and its gradient, which the gradient of fused attention needs.
    AttentionDelta(Heads),
    /// Gradient of fused attention by the queries.
    AttentionFusedQueryGrad(Heads),
    /// Gradient of fused attention by keys and values, into the same value.
    AttentionFusedKeyValueGrad(Heads),
    /// One half of each row, after SiLU, times the other (Shazeer 2020, arXiv:2002.05202).
    Swiglu,
    /// Gradient of [`TextOp::Swiglu`].
    SwigluGrad,
    /// The row of the last token that is there.
    PickRow,
    /// A linear layer and the cross-entropy of its logits, a few rows at a time: the logits are never all in memory.
    LinearCrossEntropy {
        /// The weights are stored as [classes, width].
        transposed: bool,
    },
    /// Gradient of [`TextOp::LinearCrossEntropy`]; computes the logits again.
    LinearCrossEntropyGrad {
        /// The weights are stored as [classes, width].
        transposed: bool,
        /// Whether the weights' gradient is overwritten or added to.
        accumulate: Accumulate,
    },
}

impl TextOp {
    /// The word for the operation, which is also the stem of its shader where it has one.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::EmbeddingGrad { .. } => "embedding_grad",
            Self::Norm { .. } => "layer_norm",
            Self::NormGrad { .. } => "layer_norm_grad",
            Self::NormGradPartials { .. } => "layer_norm_grad_partials",
            Self::Rotary { .. } => "rotary",
            Self::AttentionScores(_) => "attention_scores",
            Self::CausalSoftmax { .. } => "causal_softmax",
            Self::CausalSoftmaxGrad { .. } => "causal_softmax_grad",
            Self::AttentionMix(_) => "attention_mix",
            Self::AttentionMixGrad(_) => "attention_mix_grad",
            Self::AttentionQkvGrad(_) => "attention_qkv_grad",
            Self::AttentionFused(_) => "attention_fused",
            Self::AttentionDelta(_) => "attention_delta",
            Self::AttentionFusedQueryGrad(_) => "attention_fused_query_grad",
            Self::AttentionFusedKeyValueGrad(_) => "attention_fused_key_value_grad",
            Self::Swiglu => "swiglu",
            Self::SwigluGrad => "swiglu_grad",
            Self::PickRow => "pick_row",
            Self::LinearCrossEntropy { .. } => "linear_cross_entropy",
            Self::LinearCrossEntropyGrad { .. } => "linear_cross_entropy_grad",
        }
    }

    /// As [`super::Op::can_run_in_place`].
    pub(super) fn can_run_in_place(&self) -> bool {
        matches!(
            self,
            Self::NormGrad { .. }
                | Self::Rotary { .. }
                | Self::CausalSoftmax { .. }
                | Self::CausalSoftmaxGrad { .. }
        )
    }
}
