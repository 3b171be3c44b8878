//! Update rules of the optimizers.

/// Numbers of the value that every update rule reads: norm of the gradient, factor on it, 1 if the update is skipped,
/// bias of the first and of the second moment, number of the update from 1, scale of the loss, updates skipped before.
pub const NORM_VALUES: usize = 8;

/// Numbers of the scale of the loss: scale, good updates since its last change, updates made, updates skipped, bias of
/// the first and of the second moment at the next update, updates skipped in a row, and one that is not used.
pub const SCALE_VALUES: usize = 8;

/// An optimizer's update rule, or a part of one that takes several kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Stochastic gradient descent.
    Sgd {
        /// L2 pull.
        weight_decay: f32,
    },
    /// Gradient descent with momentum.
    Momentum {
        /// Share of the velocity that is kept.
        momentum: f32,
        /// Look one step ahead.
        nesterov: bool,
        /// L2 pull.
        weight_decay: f32,
    },
    /// Adam and AdamW.
    Adam {
        /// Decay of the first moment.
        beta1: f32,
        /// Decay of the second moment.
        beta2: f32,
        /// Added to the root of the second moment.
        eps: f32,
        /// Weight decay.
        weight_decay: f32,
        /// AdamW: the decay is taken from the weight, not added to the gradient.
        decoupled: bool,
        /// Elements that share a scale, where both moments are stored in 8 bits.
        block: Option<usize>,
    },
    /// The sign of a mean of gradients.
    Lion {
        /// Share of the mean in the direction.
        beta1: f32,
        /// Decay of the mean.
        beta2: f32,
        /// Taken from the weight.
        weight_decay: f32,
    },
    /// A part of Adafactor.
    Adafactor(Adafactor),
}

/// The kernels of Adafactor in their order. Factored ones work on the last two axes of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Adafactor {
    /// Means of the squared gradient over rows and over columns.
    Factors,
    /// Mean of the row factors.
    Mean,
    /// The whole second moment of a vector.
    Second,
    /// Sums of squares of the update and of the weights.
    Partials {
        /// From row and column factors.
        factored: bool,
    },
    /// The update itself.
    Apply {
        /// From row and column factors.
        factored: bool,
        /// Largest root mean square of the update.
        threshold: f32,
        /// Taken from the weight.
        weight_decay: f32,
        /// The step is relative to the size of the weights.
        relative: bool,
        /// The relative step rises from 1e-6 at first.
        warmup_init: bool,
    },
}

impl Rule {
    /// The word for the operation, which is also the stem of its shader.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::Momentum { .. } => "momentum",
            Self::Adam { block: None, .. } => "adam",
            Self::Adam { .. } => "adam8bit",
            Self::Lion { .. } => "lion",
            Self::Adafactor(part) => match part {
                Adafactor::Factors => "adafactor_factors",
                Adafactor::Mean => "adafactor_mean",
                Adafactor::Second => "adafactor_second",
                Adafactor::Partials { .. } => "adafactor_partials",
                Adafactor::Apply { .. } => "adafactor",
            },
        }
    }
}
