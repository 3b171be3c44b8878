//! Gradients of the layers that look at pictures.

use super::{Pass, d};
use crate::dtype::DType;
use crate::graph::build::{blocks, splits};
use crate::graph::{Axis, GraphError, ImageOp, Node, Op, ValueId, matrix};

impl Pass<'_> {
    pub(super) fn image(
        &mut self,
        node: &Node,
        op: ImageOp,
        dy: ValueId,
    ) -> Result<(), GraphError> {
        let x = node.reads[0];
        let dx_name = d(self.graph, x);
        let map = |op| Op::Image(op);
        match op {
            ImageOp::Conv { window, groups } => {
                let to_input = ImageOp::ConvInputGrad { window, groups };
                let to_weight = ImageOp::ConvWeightGrad { window, groups };
                self.convolution(node, dy, to_input, to_weight)
            }
            ImageOp::Depthwise { window } => {
                let to_input = ImageOp::DepthwiseInputGrad { window };
                let to_weight = ImageOp::DepthwiseWeightGrad { window };
                self.convolution(node, dy, to_input, to_weight)
            }
            ImageOp::Pool { pool, window } => {
                let op = ImageOp::PoolGrad { pool, window };
                let shape = self.graph[x].shape.clone();
                let reads: &[ValueId] = match pool {
                    crate::graph::Pool::Max => &[dy, x],
                    crate::graph::Pool::Average => &[dy],
                };
                let dx = self
                    .graph
                    .push_node(&dx_name, map(op), reads, &shape, DType::F32)?;
                self.give(x, dx)
            }
            ImageOp::GlobalPool => {
                let shape = self.graph[x].shape.clone();
                let op = map(ImageOp::GlobalPoolGrad);
                let dx = self
                    .graph
                    .push_node(&dx_name, op, &[dy], &shape, DType::F32)?;
                self.give(x, dx)
            }
            ImageOp::BatchNorm { eps } => self.batch_norm(node, dy, eps),
            ImageOp::ChannelScale => {
                let scale = node.reads[1];
                if self.needs.contains(&scale) {
                    let shape = self.graph[scale].shape.clone();
                    let name = d(self.graph, scale);
                    let op = map(ImageOp::ChannelScaleGrad);
                    let ds = self
                        .graph
                        .push_node(&name, op, &[dy, x], &shape, DType::F32)?;
                    self.give(scale, ds)?;
                }
                self.map_into(x, &dx_name, map(ImageOp::ChannelScale), &[dy, scale])
            }
            ImageOp::Relu6 => {
                self.map_into(x, &dx_name, map(ImageOp::Relu6Grad), &[dy, node.writes[0]])
            }
            ImageOp::Silu => self.map_into(x, &dx_name, map(ImageOp::SiluGrad), &[dy, x]),
            ImageOp::Sigmoid => self.map_into(
                x,
                &dx_name,
                map(ImageOp::SigmoidGrad),
                &[dy, node.writes[0]],
            ),
            _ => Err(GraphError::NoGradient {
                op: node.op.name(),
                node: node.name.clone(),
            }),
        }
    }

    /// Gradients of a convolution. That of the weights is a sum over the whole batch, so it is made as partial sums over
    /// parts of it, side by side, which are then added in order.
    fn convolution(
        &mut self,
        node: &Node,
        dy: ValueId,
        to_input: ImageOp,
        to_weight: ImageOp,
    ) -> Result<(), GraphError> {
        let (x, weight) = (node.reads[0], node.reads[1]);
        if self.needs.contains(&weight) {
            let name = format!("{}.partials", d(self.graph, weight));
            let (places, _) = matrix(&self.graph[dy].shape, false);
            let elements = self.graph[weight].elements();
            let shape = [splits(places, elements), elements];
            let op = Op::Image(to_weight);
            let partials = self
                .graph
                .push_node(&name, op, &[x, dy], &shape, DType::F32)?;
            let shape = self.graph[weight].shape.clone();
            self.reduce_into(weight, partials, Axis::Rows, 1.0, &shape)?;
        }
        if self.needs.contains(&x) {
            let (name, shape) = (d(self.graph, x), self.graph[x].shape.clone());
            let op = Op::Image(to_input);
            let dx = self
                .graph
                .push_node(&name, op, &[dy, weight], &shape, DType::F32)?;
            self.give(x, dx)?;
        }
        Ok(())
    }

    /// Gradient of batch normalisation through its statistics (Ioffe and Szegedy 2015, section 3).
    fn batch_norm(&mut self, node: &Node, dy: ValueId, eps: f32) -> Result<(), GraphError> {
        let [x, mean, variance, gamma, beta] = node.reads[..] else {
            return Ok(());
        };
        let (rows, cols) = matrix(&self.graph[x].shape, false);
        let partial = [blocks(rows), cols];
        let name = d(self.graph, gamma);
        let op = Op::Image(ImageOp::BatchNormGradPartials { eps });
        let by_gamma = self.graph.push_node(
            &format!("{name}.partials"),
            op,
            &[dy, x, mean, variance],
            &partial,
            DType::F32,
        )?;
        let by_beta = self
            .graph
            .also_writes(&format!("{}.partials", d(self.graph, beta)), &partial)?;
        // The sums of this micro-batch alone are part of its own gradient, so they are values before they are added
        // to what the window has gathered.
        let mut sums = [gamma, beta];
        for (sum, partials) in sums.iter_mut().zip([by_gamma, by_beta]) {
            let name = format!("{}.micro_batch", d(self.graph, *sum));
            let parameter =
                std::mem::replace(sum, self.graph.reduce(&name, partials, Axis::Rows, 1.0)?);
            self.give(parameter, *sum)?;
        }
        let dx_name = d(self.graph, x);
        let op = Op::Image(ImageOp::BatchNormGrad { eps });
        if self.needs.contains(&x) {
            let reads = [dy, x, mean, variance, gamma, sums[0], sums[1]];
            self.map_into(x, &dx_name, op, &reads)?;
        }
        Ok(())
    }
}
