//! The operations of networks that look at pictures. Pictures are [samples, height, width, channels].

/// A square window that moves over a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Length of its side, in pixels.
    pub kernel: usize,
    /// Pixels from one place to the next.
    pub stride: usize,
    /// Pixels of zeros around the picture, on each side.
    pub padding: usize,
}

impl Window {
    /// The window of side `kernel` that keeps the size of a picture at stride 1 and halves it at stride 2.
    pub fn same(kernel: usize, stride: usize) -> Self {
        Self {
            kernel,
            stride,
            padding: kernel / 2,
        }
    }

    /// A window whose places lie side by side.
    pub fn tiles(kernel: usize) -> Self {
        Self {
            kernel,
            stride: kernel,
            padding: 0,
        }
    }

    /// Places of the window along a side of `length` pixels; none if it does not fit once.
    pub fn places(self, length: usize) -> Option<usize> {
        let room = (length + 2 * self.padding).checked_sub(self.kernel)?;
        Some(room.checked_div(self.stride)? + 1)
    }
}

/// A layer of a network for pictures, or a part of its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ImageOp {
    /// Convolution of x with weights [kernel, kernel, channels / groups, out_channels].
    Conv {
        /// The window.
        window: Window,
        /// Groups of channels that do not see each other.
        groups: usize,
    },
    /// Gradient of [`ImageOp::Conv`] by its input.
    ConvInputGrad {
        /// The window.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Gradient of [`ImageOp::Conv`] by its weights, as partial sums over parts of the batch.
    ConvWeightGrad {
        /// The window.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Convolution of each channel for itself, with weights [kernel, kernel, channels].
    Depthwise {
        /// The window.
        window: Window,
    },
    /// Gradient of [`ImageOp::Depthwise`] by its input.
    DepthwiseInputGrad {
        /// The window.
        window: Window,
    },
    /// Gradient of [`ImageOp::Depthwise`] by its weights, as partial sums over parts of the batch.
    DepthwiseWeightGrad {
        /// The window.
        window: Window,
    },
    /// Largest or mean value under a window.
    Pool {
        /// Which of the two.
        pool: Pool,
        /// The window.
        window: Window,
    },
    /// Gradient of [`ImageOp::Pool`].
    PoolGrad {
        /// Which of the two.
        pool: Pool,
        /// The window.
        window: Window,
    },
    /// Mean over all pixels.
    GlobalPool,
    /// Gradient of [`ImageOp::GlobalPool`].
    GlobalPoolGrad,
    /// Mean and summed squared distance of each channel over blocks of the batch.
    BatchMoments,
    /// Mean and variance of each channel from the blocks.
    BatchMomentsFinish {
        /// Share of the new value in the running statistics; none leaves them alone.
        momentum: Option<f32>,
        /// Rows that were summed, padding included.
        rows: usize,
        /// Rows of one sample: its pixels.
        rows_per_sample: usize,
    },
    /// Batch normalisation with given mean and variance.
    BatchNorm {
        /// Added to the variance.
        eps: f32,
    },
    /// Partial sums for the gradients by scale and shift of [`ImageOp::BatchNorm`].
    BatchNormGradPartials {
        /// Added to the variance.
        eps: f32,
    },
    /// Gradient of [`ImageOp::BatchNorm`] by its input, through the statistics too.
    BatchNormGrad {
        /// Added to the variance.
        eps: f32,
    },
    /// Multiplies each channel of each sample by a number.
    ChannelScale,
    /// Gradient of [`ImageOp::ChannelScale`] by the numbers.
    ChannelScaleGrad,
    /// min(max(x, 0), 6).
    Relu6,
    /// Gradient of [`ImageOp::Relu6`] from its output.
    Relu6Grad,
    /// x times its logistic function.
    Silu,
    /// Gradient of [`ImageOp::Silu`] from its input.
    SiluGrad,
    /// The logistic function.
    Sigmoid,
    /// Gradient of [`ImageOp::Sigmoid`] from its output.
    SigmoidGrad,
}

/// What a pooling window keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The largest value.
    Max,
    /// The mean; padding counts as zeros.
    Average,
}

impl ImageOp {
    /// The word for the operation, which is also the stem of its shader.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conv { .. } => "conv",
            Self::ConvInputGrad { .. } => "conv_input_grad",
            Self::ConvWeightGrad { .. } => "conv_weight_grad",
            Self::Depthwise { .. } => "depthwise",
            Self::DepthwiseInputGrad { .. } => "depthwise_input_grad",
            Self::DepthwiseWeightGrad { .. } => "depthwise_weight_grad",
            Self::Pool { pool, .. } => match pool {
                Pool::Max => "max_pool",
                Pool::Average => "avg_pool",
            },
            Self::PoolGrad { pool, .. } => match pool {
                Pool::Max => "max_pool_grad",
                Pool::Average => "avg_pool_grad",
            },
            Self::GlobalPool => "global_pool",
            Self::GlobalPoolGrad => "global_pool_grad",
            Self::BatchMoments => "batch_moments",
            Self::BatchMomentsFinish { .. } => "batch_moments_finish",
            Self::BatchNorm { .. } => "batch_norm",
            Self::BatchNormGradPartials { .. } => "batch_norm_grad_partials",
            Self::BatchNormGrad { .. } => "batch_norm_grad",
            Self::ChannelScale => "channel_scale",
            Self::ChannelScaleGrad => "channel_scale_grad",
            Self::Relu6 => "relu6",
            Self::Relu6Grad => "relu6_grad",
            Self::Silu => "silu",
            Self::SiluGrad => "silu_grad",
            Self::Sigmoid => "sigmoid",
            Self::SigmoidGrad => "sigmoid_grad",
        }
    }

    /// As [`super::Op::can_run_in_place`].
    pub(super) fn can_run_in_place(&self) -> bool {
        matches!(
            self,
            Self::BatchNorm { .. }
                | Self::BatchNormGrad { .. }
                | Self::ChannelScale
                | Self::Relu6
                | Self::Relu6Grad
                | Self::Silu
                | Self::SiluGrad
                | Self::Sigmoid
                | Self::SigmoidGrad
        )
    }
}
