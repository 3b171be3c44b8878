//! What a node costs: multiply-adds, for the costs a plan states and for cutting long work into short launches.

use super::{Graph, ImageOp, Node, Op, TextOp, matrix};

impl Graph {
    /// Multiply-adds of a node. Operations that multiply no matrices count one for each element they write.
    pub fn multiply_adds(&self, node: &Node) -> u64 {
        self.product_multiply_adds(node)
            .unwrap_or_else(|| node.writes.iter().map(|v| self[*v].elements() as u64).sum())
    }

    /// Multiply-adds of a matrix product, a convolution or an attention; none for other operations. These are what the
    /// papers count.
    pub fn product_multiply_adds(&self, node: &Node) -> Option<u64> {
        let product = |numbers: &[usize]| Some(numbers.iter().map(|n| *n as u64).product::<u64>());
        let shape = |index: usize| self[node.reads[index]].shape.as_slice();
        let elements = |value: super::ValueId| self[value].elements();
        match &node.op {
            Op::Matmul { trans_a, .. } => {
                let (m, k) = matrix(shape(0), *trans_a);
                product(&[k, m, elements(node.writes[0]) / m.max(1)])
            }
            Op::Image(op) => match op {
                // Every output sums over the window and the channels of its group: the rows of the weight matrix.
                ImageOp::Conv { .. } => {
                    product(&[elements(node.writes[0]), matrix(shape(1), false).0])
                }
                ImageOp::ConvInputGrad { .. } => {
                    product(&[elements(node.reads[0]), matrix(shape(1), false).0])
                }
                // The partial sums are as many as the weights, times the parts of the batch.
                ImageOp::ConvWeightGrad { .. } => {
                    let [_, weights] = self[node.writes[0]].shape[..] else {
                        return None;
                    };
                    let (places, out) = matrix(shape(1), false);
                    product(&[places * out, weights / out.max(1)])
                }
                ImageOp::Depthwise { window } => {
                    product(&[elements(node.writes[0]), window.kernel, window.kernel])
                }
                ImageOp::DepthwiseInputGrad { window } => {
                    product(&[elements(node.reads[0]), window.kernel, window.kernel])
                }
                ImageOp::DepthwiseWeightGrad { window } => {
                    product(&[elements(node.reads[1]), window.kernel, window.kernel])
                }
                _ => None,
            },
            Op::Text(op) => self.text_multiply_adds(node, op),
            _ => None,
        }
    }

    fn text_multiply_adds(&self, node: &Node, op: &TextOp) -> Option<u64> {
        // Half of all pairs of positions are a query and a key it may see, the diagonal included.
        let pairs = |heads: super::Heads, qkv: usize| {
            let (rows, cols) = matrix(&self[node.reads[qkv]].shape, false);
            rows as u64 * (heads.context as u64 + 1) / 2 * (cols / 3) as u64
        };
        Some(match op {
            TextOp::AttentionScores(heads) => pairs(*heads, 0),
            TextOp::AttentionMix(heads) | TextOp::AttentionMixGrad(heads) => pairs(*heads, 1),
            TextOp::AttentionQkvGrad(heads) => 3 * pairs(*heads, 2),
            TextOp::AttentionFused(heads) => 2 * pairs(*heads, 0),
            TextOp::AttentionFusedQueryGrad(heads) => 3 * pairs(*heads, 0),
            TextOp::AttentionFusedKeyValueGrad(heads) => 4 * pairs(*heads, 0),
            TextOp::LinearCrossEntropy { transposed } => self.head_multiply_adds(node, *transposed),
            TextOp::LinearCrossEntropyGrad { transposed, .. } => {
                3 * self.head_multiply_adds(node, *transposed)
            }
            _ => return None,
        })
    }

    /// Multiply-adds of the logits of a linear layer that is fused with its loss.
    fn head_multiply_adds(&self, node: &Node, transposed: bool) -> u64 {
        let (rows, width) = matrix(&self[node.reads[0]].shape, false);
        let (_, classes) = matrix(&self[node.reads[1]].shape, transposed);
        rows as u64 * width as u64 * classes as u64
    }
}
