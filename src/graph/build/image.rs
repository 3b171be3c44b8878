//! Builder methods for networks that look at pictures.

use super::super::{Class, Graph, GraphError, ImageOp, Init, Op, Pool, ValueId, Window, matrix};
use crate::dtype::DType;

/// Rows of a picture batch that one block of a sum over the batch covers at least, and the most blocks there are. From
/// the shape alone, so that the order of a sum does not depend on the adapter.
const BLOCK_ROWS: usize = 64;
const MAX_BLOCKS: usize = 64;

/// Elements that the partial sums of a weight gradient may take in all, beyond one set of them.
const PARTIAL_ELEMENTS: usize = 1 << 19;
/// Places of a window that one partial sum covers at least.
const PARTIAL_PLACES: usize = 512;

/// Blocks in which a sum over `rows` rows is split.
pub(in crate::graph) fn blocks(rows: usize) -> usize {
    rows.div_ceil(BLOCK_ROWS).clamp(1, MAX_BLOCKS)
}

/// Partial sums in which the gradient of `weights` elements over `places` places is split.
pub(in crate::graph) fn splits(places: usize, weights: usize) -> usize {
    let by_memory = (PARTIAL_ELEMENTS / weights.max(1)).max(1);
    places
        .div_ceil(PARTIAL_PLACES)
        .clamp(1, MAX_BLOCKS)
        .min(by_memory)
}

impl Graph {
    /// Convolution of `x` [samples, height, width, channels] with weights [kernel, kernel, channels / groups,
    /// out_channels].
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the channels do not fit, or the window does not fit into the picture.
    pub fn conv(
        &mut self,
        name: &str,
        x: ValueId,
        weight: ValueId,
        window: Window,
        groups: usize,
    ) -> Result<ValueId, GraphError> {
        let (x_shape, w_shape) = (self[x].shape.clone(), self[weight].shape.clone());
        let (&[n, h, w, c], &[kh, kw, c_group, out]) = (x_shape.as_slice(), w_shape.as_slice())
        else {
            let rule = "a convolution takes a picture [samples, height, width, channels] and weights [kernel, kernel, channels / groups, out_channels]";
            return Err(self.shapes("conv", name, &x_shape, &w_shape, rule));
        };
        let divides = groups > 0 && c_group * groups == c && out.is_multiple_of(groups);
        if !divides || kh != window.kernel || kw != window.kernel {
            let rule = "the weights are as wide as the window, and channels and out_channels split evenly into the groups";
            return Err(self.shapes("conv", name, &x_shape, &w_shape, rule));
        }
        let (Some(oh), Some(ow)) = (window.places(h), window.places(w)) else {
            return Err(self.shapes("conv", name, &x_shape, &w_shape, WINDOW_FITS));
        };
        let op = Op::Image(ImageOp::Conv { window, groups });
        self.push_node(name, op, &[x, weight], &[n, oh, ow, out], DType::F32)
    }

    /// Convolution of each channel of `x` for itself with weights [kernel, kernel, channels] (Howard et al. 2017,
    /// arXiv:1704.04861).
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if the channels differ, or the window does not fit into the picture.
    pub fn depthwise(
        &mut self,
        name: &str,
        x: ValueId,
        weight: ValueId,
        window: Window,
    ) -> Result<ValueId, GraphError> {
        let (x_shape, w_shape) = (self[x].shape.clone(), self[weight].shape.clone());
        let &[n, h, w, c] = x_shape.as_slice() else {
            let rule = "a depthwise convolution takes a picture [samples, height, width, channels]";
            return Err(self.shapes("depthwise", name, &x_shape, &w_shape, rule));
        };
        if w_shape != [window.kernel, window.kernel, c] {
            let rule = "depthwise weights are [kernel, kernel, channels]";
            return Err(self.shapes("depthwise", name, &x_shape, &w_shape, rule));
        }
        let (Some(oh), Some(ow)) = (window.places(h), window.places(w)) else {
            return Err(self.shapes("depthwise", name, &x_shape, &w_shape, WINDOW_FITS));
        };
        let op = Op::Image(ImageOp::Depthwise { window });
        self.push_node(name, op, &[x, weight], &[n, oh, ow, c], DType::F32)
    }

    /// The largest or the mean value under a window.
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if `x` is no picture or the window does not fit into it.
    pub fn pool(
        &mut self,
        name: &str,
        x: ValueId,
        pool: Pool,
        window: Window,
    ) -> Result<ValueId, GraphError> {
        let shape = self[x].shape.clone();
        let side = [window.kernel, window.kernel];
        let &[n, h, w, c] = shape.as_slice() else {
            let rule = "pooling takes a picture [samples, height, width, channels]";
            return Err(self.shapes("pool", name, &shape, &side, rule));
        };
        let (Some(oh), Some(ow)) = (window.places(h), window.places(w)) else {
            return Err(self.shapes("pool", name, &shape, &side, WINDOW_FITS));
        };
        let op = Op::Image(ImageOp::Pool { pool, window });
        self.push_node(name, op, &[x], &[n, oh, ow, c], DType::F32)
    }

    /// Mean over all pixels: [samples, ..., channels] becomes [samples, channels].
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn global_pool(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        let (samples, _, channels) = self.picture(x);
        let op = Op::Image(ImageOp::GlobalPool);
        self.push_node(name, op, &[x], &[samples, channels], DType::F32)
    }

    /// Multiplies each channel of each sample of `x` by its number in `scale` [samples, channels].
    ///
    /// # Errors
    /// [`GraphError::Shapes`] if there is not one number for each.
    pub fn channel_scale(
        &mut self,
        name: &str,
        x: ValueId,
        scale: ValueId,
    ) -> Result<ValueId, GraphError> {
        let (samples, _, channels) = self.picture(x);
        if self[scale].shape != [samples, channels] {
            let rule = "there is one number for each channel of each sample";
            return Err(self.shapes(
                "channel_scale",
                name,
                &self[x].shape,
                &self[scale].shape,
                rule,
            ));
        }
        self.map(name, Op::Image(ImageOp::ChannelScale), &[x, scale])
    }

    /// min(max(x, 0), 6), the activation of MobileNet.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn relu6(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        self.map(name, Op::Image(ImageOp::Relu6), &[x])
    }

    /// x times its logistic function (Elfwing et al. 2017, arXiv:1702.03118), the activation of EfficientNet.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn silu(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        self.map(name, Op::Image(ImageOp::Silu), &[x])
    }

    /// The logistic function 1 / (1 + exp(-x)).
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn sigmoid(&mut self, name: &str, x: ValueId) -> Result<ValueId, GraphError> {
        self.map(name, Op::Image(ImageOp::Sigmoid), &[x])
    }

    /// Batch normalisation over the last axis (Ioffe and Szegedy 2015, arXiv:1502.03167), with parameters
    /// `NAME.gamma` and `NAME.beta` and running statistics `NAME.running_mean` and `NAME.running_variance`.
    ///
    /// In the `accumulate` program it normalises by the moments of the micro-batch, of rows that hold real samples only,
    /// and moves the running statistics towards them by the share `momentum`; in other programs it normalises by the
    /// running statistics and leaves them alone.
    ///
    /// # Errors
    /// [`GraphError::OneValue`] if a channel has a single value per micro-batch, of which there is no variance.
    pub fn batch_norm(
        &mut self,
        name: &str,
        x: ValueId,
        momentum: f32,
        eps: f32,
    ) -> Result<ValueId, GraphError> {
        let (rows, cols) = matrix(&self[x].shape, false);
        let gamma = self.parameter(&format!("{name}.gamma"), &[cols], Init::Ones)?;
        let beta = self.parameter(&format!("{name}.beta"), &[cols], Init::Zeros)?;
        let kept = |what: &str| format!("{name}.{what}");
        let running_mean =
            self.constant(&kept("running_mean"), &[cols], Class::Weights, Init::Zeros);
        let running_variance = self.constant(
            &kept("running_variance"),
            &[cols],
            Class::Weights,
            Init::Ones,
        );
        let mut moments = (running_mean, running_variance);
        if self.program == super::Program::Accumulate {
            if rows < 2 {
                return Err(GraphError::OneValue {
                    node: name.into(),
                    shape: self[x].shape.clone(),
                });
            }
            let partial = [blocks(rows), cols];
            let op = Op::Image(ImageOp::BatchMoments);
            let means =
                self.push_node(&format!("{name}.moments"), op, &[x], &partial, DType::F32)?;
            let m2 = self.also_writes(&format!("{name}.squares"), &partial)?;
            let op = Op::Image(ImageOp::BatchMomentsFinish {
                momentum: Some(momentum),
                rows,
                rows_per_sample: self.picture(x).1,
            });
            let mean = format!("{name}.mean");
            let mean = self.push_node(&mean, op, &[means, m2], &[cols], DType::F32)?;
            let variance = self.also_writes(&format!("{name}.variance"), &[cols])?;
            if let Some(node) = self.nodes.last_mut() {
                node.writes.extend([running_mean, running_variance]);
            }
            moments = (mean, variance);
        }
        let op = Op::Image(ImageOp::BatchNorm { eps });
        self.map(name, op, &[x, moments.0, moments.1, gamma, beta])
    }

    /// Samples, pixels and channels of a value [samples, ..., channels].
    pub fn picture(&self, x: ValueId) -> (usize, usize, usize) {
        let shape = &self[x].shape;
        let samples = shape.first().copied().unwrap_or(1);
        let channels = shape.last().copied().unwrap_or(1);
        let pixels = self[x].elements() / (samples * channels).max(1);
        (samples, pixels, channels)
    }
}

/// What a window must do.
const WINDOW_FITS: &str = "the window fits into the picture with its padding; the picture has become too small for another step, so take fewer stages or larger pictures";
