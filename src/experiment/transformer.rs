//! The transformer in the `[model]` section.

use super::bounds::{check_count, check_dropout};
use super::section::{Choices, Problems, Section};
use serde::Serialize;

/// A decoder in the way of GPT-2 (Radford et al. 2019): embedding, blocks of causal attention and MLP with a norm before
/// each, a last norm and a linear head. The vocabulary is that of the tokenizer, `data.tokenizer`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transformer {
    /// Number of blocks.
    pub layers: usize,
    /// Numbers per token between the layers.
    pub width: usize,
    /// Attention heads; they share the width evenly.
    pub heads: usize,
    /// Tokens of a sequence.
    pub context: usize,
    /// How the network knows where a token stands.
    pub positions: Positions,
    /// The normalisation.
    pub norm: NormKind,
    /// The two layers after attention.
    pub mlp: MlpKind,
    /// Whether the head is the embedding table, transposed (Press and Wolf 2016, arXiv:1608.05859).
    pub tied: bool,
    /// Share of the embedding and of every block's outputs set to zero in training.
    pub dropout: f32,
    /// How attention is computed; the results are the same.
    pub attention: Form,
    /// How the head and its loss are computed; the results are the same.
    pub loss: Form,
}

/// How the network knows where a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// A learned vector for each position.
    Learned,
    /// Queries and keys turned by their position (Su et al. 2021, arXiv:2104.09864).
    Rotary,
}

/// The normalisation of a transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// Layer normalisation (arXiv:1607.06450).
    Layer,
    /// Root mean square (arXiv:1910.07467).
    Rms,
}

/// The two layers after attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MlpKind {
    /// Four times as wide, with GELU (its tanh form, as GPT-2 has it).
    Gelu,
    /// Two gates of 8/3 of the width, with SiLU (Shazeer 2020, arXiv:2002.05202).
    Swiglu,
}

/// Two ways to the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Step by step; everything between the steps is kept.
    Plain,
    /// In one go; what is needed again is computed again.
    Fused,
}

const POSITIONS: Choices<Positions> = Choices {
    allowed: &[
        ("learned", Positions::Learned),
        ("rotary", Positions::Rotary),
    ],
    later: &[],
};
const NORMS: Choices<NormKind> = Choices {
    allowed: &[("layer", NormKind::Layer), ("rms", NormKind::Rms)],
    later: &[],
};
const MLPS: Choices<MlpKind> = Choices {
    allowed: &[("gelu", MlpKind::Gelu), ("swiglu", MlpKind::Swiglu)],
    later: &[],
};
const FORMS: Choices<Form> = Choices {
    allowed: &[("plain", Form::Plain), ("fused", Form::Fused)],
    later: &[],
};

impl Default for Transformer {
    fn default() -> Self {
        Self {
            layers: 4,
            width: 128,
            heads: 4,
            context: 128,
            positions: Positions::Learned,
            norm: NormKind::Layer,
            mlp: MlpKind::Gelu,
            tied: true,
            dropout: 0.0,
            attention: Form::Fused,
            loss: Form::Fused,
        }
    }
}

impl Transformer {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let default = Self::default();
        Self {
            layers: section.or_default("layers", default.layers),
            width: section.or_default("width", default.width),
            heads: section.or_default("heads", default.heads),
            context: section.or_default("context", default.context),
            positions: section.choice_or("positions", &POSITIONS, default.positions),
            norm: section.choice_or("norm", &NORMS, default.norm),
            mlp: section.choice_or("mlp", &MLPS, default.mlp),
            tied: section.or_default("tied", default.tied),
            dropout: section.or_default("dropout", default.dropout),
            attention: section.choice_or("attention", &FORMS, default.attention),
            loss: section.choice_or("loss", &FORMS, default.loss),
        }
    }

    /// Numbers per token and head.
    pub fn head_dim(&self) -> usize {
        self.width / self.heads.max(1)
    }

    pub(super) fn check(&self, problems: &Problems) {
        check_count("layers", self.layers, (1, 1000), problems);
        check_count("width", self.width, (1, 65536), problems);
        check_count("heads", self.heads, (1, 1024), problems);
        check_count("context", self.context, (1, 65536), problems);
        check_dropout(self.dropout, problems);
        let (width, heads) = (self.width, self.heads);
        if heads == 0 || width == 0 {
            return;
        }
        if !width.is_multiple_of(heads) {
            let allowed = format!("must divide model.width = {width} evenly");
            problems.value("model.heads", heads, &allowed);
        } else if self.head_dim() > MAX_HEAD_DIM {
            let allowed = format!(
                "gives heads {} wide (model.width / model.heads), a head may be {MAX_HEAD_DIM} wide at most; take more heads",
                self.head_dim()
            );
            problems.value("model.heads", heads, &allowed);
        } else if self.positions == Positions::Rotary && !self.head_dim().is_multiple_of(2) {
            let allowed = format!(
                "rotary positions turn pairs of numbers, but a head is {} wide (model.width / model.heads)",
                self.head_dim()
            );
            problems.value("model.positions", "\"rotary\"", &allowed);
        }
    }
}

/// Widest head the attention kernels hold.
const MAX_HEAD_DIM: usize = 128;
