//! What a node of the step graph computes.

use super::{ImageOp, TextOp};
use crate::dtype::DType;

/// An operation. Shapes are those of the builder methods of [`super::Graph`].
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `C = op(A) · op(B)` for matrices; `op` transposes where asked.
    Matmul {
        /// A is stored as [k, m].
        trans_a: bool,
        /// B is stored as [n, k].
        trans_b: bool,
        /// Whether C is overwritten or added to.
        accumulate: Accumulate,
    },
    /// Adds one row to every row.
    Bias,
    /// max(x, 0).
    Relu,
    /// Gradient of [`Op::Relu`] from its output.
    ReluGrad,
    /// GELU; exact, or with tanh.
    Gelu {
        /// The tanh approximation.
        tanh: bool,
    },
    /// Gradient of [`Op::Gelu`] from its input.
    GeluGrad {
        /// The tanh approximation.
        tanh: bool,
    },
    /// Sets a share of the elements to zero and scales up the rest. Its own gradient: the mask is drawn again.
    Dropout {
        /// Share that is dropped.
        share: f32,
        /// Which mask: two dropout nodes of one step with the same key draw the same mask.
        key: u32,
    },
    /// Elementwise sum.
    Add,
    /// Multiplication by a constant.
    Scale {
        /// The constant.
        factor: f32,
    },
    /// The same elements under another shape; costs nothing.
    Reshape,
    /// Sum along an axis of a matrix.
    Reduce {
        /// What is summed away.
        axis: Axis,
        /// Multiplies the sum.
        factor: f32,
        /// Also divides by the number of samples of the accumulation window.
        per_sample: bool,
        /// Whether the output is overwritten or added to.
        accumulate: Accumulate,
    },
    /// Gradient of [`Op::Reduce`]: repeats its input along an axis.
    Broadcast {
        /// Along what the input is repeated.
        axis: Axis,
        /// Multiplies every element.
        factor: f32,
    },
    /// Softmax cross-entropy of each row; keeps the log-sum-exp for the gradient.
    CrossEntropy,
    /// Gradient of the mean of [`Op::CrossEntropy`] over the samples of the window.
    CrossEntropyGrad,
    /// 1 for each row whose label is among the `k` largest logits.
    Correct {
        /// How many guesses count.
        k: usize,
    },
    /// Conversion between number formats, of which one is F32.
    Cast {
        /// Format of the input.
        from: DType,
        /// Format of the output.
        to: DType,
    },
    /// A layer of pictures or its gradient.
    Image(ImageOp),
    /// A layer of language models or its gradient.
    Text(TextOp),
    /// Sums of squares of a gradient, [`NORM_PARTIALS`] of them.
    NormPartials {
        /// Where in the output they go.
        offset: usize,
    },
    /// Global norm and the factor that clips it.
    NormFinish,
    /// Update of one parameter.
    Update(Rule),
}

/// Partial sums per tensor in the global norm. Fixed, so that the order of the sum does not depend on the adapter.
pub const NORM_PARTIALS: usize = 64;

/// Whether a kernel overwrites its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    /// It does.
    Overwrite,
    /// In the first micro-batch of a window; in the others it adds.
    OverWindow,
    /// It always adds.
    Always,
}

/// Axis of a sum over a matrix [rows, cols].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Over the rows: [cols] is left.
    Rows,
    /// Over the columns: [rows] is left.
    Cols,
    /// Over both: [1] is left.
    All,
}

/// An optimizer's update rule.
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
    },
}

impl Op {
    /// The word for the operation in node names and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Matmul { .. } => "matmul",
            Self::Bias => "bias",
            Self::Relu => "relu",
            Self::ReluGrad => "relu_grad",
            Self::Gelu { .. } => "gelu",
            Self::GeluGrad { .. } => "gelu_grad",
            Self::Dropout { .. } => "dropout",
            Self::Add => "add",
            Self::Scale { .. } => "scale",
            Self::Reshape => "reshape",
            Self::Reduce { .. } => "reduce",
            Self::Broadcast { .. } => "broadcast",
            Self::CrossEntropy => "cross_entropy",
            Self::CrossEntropyGrad => "cross_entropy_grad",
            Self::Correct { .. } => "correct",
            Self::Image(op) => op.name(),
            Self::Text(op) => op.name(),
            Self::Cast { .. } => "cast",
            Self::NormPartials { .. } => "norm_partials",
            Self::NormFinish => "norm_finish",
            Self::Update(Rule::Sgd { .. }) => "sgd",
            Self::Update(Rule::Momentum { .. }) => "momentum",
            Self::Update(Rule::Adam { .. }) => "adam",
        }
    }

    /// Whether the operation may write its output over its first input, given that nobody reads that input later.
    pub fn can_run_in_place(&self) -> bool {
        match self {
            Self::Bias
            | Self::Relu
            | Self::ReluGrad
            | Self::Gelu { .. }
            | Self::GeluGrad { .. }
            | Self::Dropout { .. }
            | Self::Add
            | Self::Scale { .. }
            | Self::CrossEntropyGrad => true,
            Self::Image(op) => op.can_run_in_place(),
            Self::Text(op) => op.can_run_in_place(),
            _ => false,
        }
    }
}
