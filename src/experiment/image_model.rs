//! Networks for pictures in the `[model]` section.

use super::bounds::{check_count, check_dropout};
use super::section::{Choices, Problems, Section};
use serde::Serialize;

/// A convolutional network: a stem, then stages that halve the picture and double the channels, then a linear head.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cnn {
    /// Layers with weights, from stem to head: `2 + 2 * stages * blocks` for a whole number of blocks per stage.
    pub depth: usize,
    /// Channels of the first stage.
    pub width: usize,
    /// Number of stages.
    pub stages: usize,
    /// Whether blocks of two convolutions are bridged by an addition (He et al. 2015, arXiv:1512.03385). Without it the
    /// network is plain, in the way of VGG (Simonyan and Zisserman 2014, arXiv:1409.1556), and pools between stages.
    pub residual: bool,
    /// What a plain network keeps of each 2x2 window between two stages; not used by a residual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolKind>,
}

/// What is kept of a window of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// The largest value.
    Max,
    /// The mean.
    Average,
}

const POOLS: Choices<PoolKind> = Choices {
    allowed: &[("max", PoolKind::Max), ("average", PoolKind::Average)],
    later: &[],
};

/// MobileNet (Howard et al. 2017, arXiv:1704.04861): each layer a depthwise convolution and a 1x1 convolution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MobileNet {
    /// Width multiplier, the paper's α: 1 is 32 channels after the stem.
    pub width: f32,
    /// Depthwise-separable layers, the first so many of the paper's 13.
    pub layers: usize,
}

/// EfficientNet (Tan and Le 2019, arXiv:1905.11946): MBConv blocks with squeeze-and-excitation and SiLU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EfficientNet {
    /// Compound coefficient φ: depth grows by 1.2^φ, width by 1.1^φ; pictures should grow by 1.15^φ.
    pub compound: f32,
    /// Width of the network that is scaled, as a share of B0's.
    pub width: f32,
    /// Depth of the network that is scaled, as a share of B0's.
    pub layers: f32,
    /// Stages, the first so many of B0's seven.
    pub stages: usize,
    /// Share of a block's input channels that the squeeze keeps.
    pub squeeze: f32,
    /// Share of the head's inputs set to zero in training.
    pub dropout: f32,
}

impl Default for Cnn {
    fn default() -> Self {
        Self {
            depth: 8,
            width: 16,
            stages: 3,
            residual: true,
            pool: None,
        }
    }
}

impl Cnn {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let default = Self::default();
        let residual = section.or_default("residual", default.residual);
        Self {
            depth: section.or_default("depth", default.depth),
            width: section.or_default("width", default.width),
            stages: section.or_default("stages", default.stages),
            residual,
            // A residual network halves its pictures by the stride of a convolution, and a field for pooling is refused.
            pool: (!residual).then(|| section.choice_or("pool", &POOLS, PoolKind::Max)),
        }
    }

    /// Blocks of two convolutions in each stage.
    pub fn blocks(&self) -> usize {
        self.depth.saturating_sub(2) / (2 * self.stages).max(1)
    }

    pub(super) fn check(&self, problems: &Problems) {
        check_count("width", self.width, (1, 4096), problems);
        check_count("stages", self.stages, (1, 8), problems);
        let step = 2 * self.stages.clamp(1, 8);
        let fits = self.depth >= 2 + step && (self.depth - 2).is_multiple_of(step);
        if !fits || self.depth > 10_000 {
            let blocks = (self.depth.saturating_sub(2) as f64 / step as f64).round() as usize;
            let nearest = 2 + step * blocks.clamp(1, 9998 / step);
            let allowed = format!(
                "must be 2 + {step} * blocks with model.stages = {} (a stem, two layers per block in every stage, a head); the nearest is {nearest}",
                self.stages
            );
            problems.value("model.depth", self.depth, &allowed);
        }
    }
}

impl MobileNet {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        Self {
            width: section.or_default("width", 1.0),
            layers: section.or_default("layers", 13),
        }
    }

    pub(super) fn check(&self, problems: &Problems) {
        check_factor("width", self.width, problems);
        check_count("layers", self.layers, (1, 13), problems);
    }
}

impl EfficientNet {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        Self {
            compound: section.or_default("compound", 0.0),
            width: section.or_default("width", 1.0),
            layers: section.or_default("layers", 1.0),
            stages: section.or_default("stages", 7),
            squeeze: section.or_default("squeeze", 0.25),
            dropout: section.or_default("dropout", 0.0),
        }
    }

    pub(super) fn check(&self, problems: &Problems) {
        if !(0.0..=10.0).contains(&self.compound) {
            let allowed = "must be 0 to 10, the paper's B0 to B7 are 0 to 6";
            problems.value("model.compound", self.compound, allowed);
        }
        check_factor("width", self.width, problems);
        check_factor("layers", self.layers, problems);
        check_count("stages", self.stages, (1, 7), problems);
        if !(self.squeeze > 0.0 && self.squeeze <= 1.0) {
            let allowed =
                "must be above 0 and at most 1 (the share of channels that the squeeze keeps)";
            problems.value("model.squeeze", self.squeeze, allowed);
        }
        check_dropout(self.dropout, problems);
    }

    /// Factor of the width, compound scaling included.
    pub fn width_factor(&self) -> f32 {
        self.width * 1.1f32.powf(self.compound)
    }

    /// Factor of the depth, compound scaling included.
    pub fn depth_factor(&self) -> f32 {
        self.layers * 1.2f32.powf(self.compound)
    }

    /// How much larger than those of the network that is scaled the pictures should be, per side.
    pub fn resolution_factor(&self) -> f32 {
        1.15f32.powf(self.compound)
    }
}

fn check_factor(field: &str, factor: f32, problems: &Problems) {
    if !(factor > 0.0 && factor <= 16.0) {
        let allowed = "must be above 0 and at most 16 (a factor; 1 is the network of the paper)";
        problems.value(&format!("model.{field}"), factor, allowed);
    }
}
