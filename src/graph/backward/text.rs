//! Gradients of the layers of language models.

use super::{Pass, d};
use crate::dtype::DType;
use crate::graph::build::{blocks, chunk_rows};
use crate::graph::{
    Accumulate, Axis, GraphError, Heads, Node, Op, RowNorm, TextOp, ValueId, matrix,
};

impl Pass<'_> {
    pub(super) fn text(&mut self, node: &Node, op: TextOp, dy: ValueId) -> Result<(), GraphError> {
        let x = node.reads[0];
        let dx_name = d(self.graph, x);
        let map = |op| Op::Text(op);
        match op {
            TextOp::Embedding => self.embedding(node, dy),
            TextOp::Norm { norm, .. } => self.row_norm(node, dy, norm),
            TextOp::Rotary { heads, inverse } => {
                let inverse = !inverse;
                let op = map(TextOp::Rotary { heads, inverse });
                self.map_into(x, &dx_name, op, &[dy, node.reads[1]])
            }
            // The scores and their softmax are differentiated together with the mixing they end in.
            TextOp::AttentionMix(heads) => self.attention_plain(node, dy, heads),
            TextOp::AttentionScores(_) | TextOp::CausalSoftmax { .. } => Ok(()),
            TextOp::AttentionFused(heads) => self.attention_fused(node, dy, heads),
            TextOp::Swiglu => {
                let shape = self.graph[x].shape.clone();
                let op = map(TextOp::SwigluGrad);
                let dx = self
                    .graph
                    .push_node(&dx_name, op, &[dy, x], &shape, DType::F32)?;
                self.give(x, dx)
            }
            _ => Err(GraphError::NoGradient {
                op: node.op.name(),
                node: node.name.clone(),
            }),
        }
    }

    fn embedding(&mut self, node: &Node, dy: ValueId) -> Result<(), GraphError> {
        let &[_, table, order, starts] = node.reads.as_slice() else {
            return Err(GraphError::NoGradient {
                op: node.op.name(),
                node: node.name.clone(),
            });
        };
        let name = d(self.graph, table);
        let reads = [dy, order, starts];
        if let Some((gradient, accumulate)) = self.parameter_target(table) {
            let op = Op::Text(TextOp::EmbeddingGrad { accumulate });
            self.graph.push(&name, op, &reads, &[gradient]);
            return Ok(());
        }
        let shape = self.graph[table].shape.clone();
        let accumulate = Accumulate::Overwrite;
        let op = Op::Text(TextOp::EmbeddingGrad { accumulate });
        let gradient = self
            .graph
            .push_node(&name, op, &reads, &shape, DType::F32)?;
        self.give(table, gradient)
    }

    fn row_norm(&mut self, node: &Node, dy: ValueId, norm: RowNorm) -> Result<(), GraphError> {
        let (x, gamma) = (node.reads[0], node.reads[1]);
        let (rows, cols) = matrix(&self.graph[x].shape, false);
        // What the forward pass kept: mean and reciprocal deviation of each row, or the latter alone.
        let kept = node.writes[1..].to_vec();
        let partial = [blocks(rows), cols];
        let name = format!("{}.partials", d(self.graph, gamma));
        let reads: Vec<ValueId> = [dy, x].into_iter().chain(kept.clone()).collect();
        let op = Op::Text(TextOp::NormGradPartials { norm });
        let by_gamma = self
            .graph
            .push_node(&name, op, &reads, &partial, DType::F32)?;
        let mut sums = vec![(gamma, by_gamma)];
        if norm == RowNorm::Layer {
            let beta = node.reads[2];
            let name = format!("{}.partials", d(self.graph, beta));
            sums.push((beta, self.graph.also_writes(&name, &partial)?));
        }
        for (parameter, partials) in sums {
            self.reduce_into(parameter, partials, Axis::Rows, 1.0, &[cols])?;
        }
        if !self.needs.contains(&x) {
            return Ok(());
        }
        let reads: Vec<ValueId> = [dy, x, gamma].into_iter().chain(kept).collect();
        let dx_name = d(self.graph, x);
        self.map_into(x, &dx_name, Op::Text(TextOp::NormGrad { norm }), &reads)
    }

    fn attention_plain(
        &mut self,
        node: &Node,
        dy: ValueId,
        heads: Heads,
    ) -> Result<(), GraphError> {
        let (shares, qkv) = (node.reads[0], node.reads[1]);
        let (all, name) = (self.graph[shares].shape.clone(), d(self.graph, shares));
        let op = Op::Text(TextOp::AttentionMixGrad(heads));
        let d_shares = self
            .graph
            .push_node(&name, op, &[dy, qkv], &all, DType::F32)?;
        let context = heads.context;
        let op = Op::Text(TextOp::CausalSoftmaxGrad { context });
        let d_scores = self
            .graph
            .map(&format!("{name}.scores"), op, &[d_shares, shares])?;
        let (shape, name) = (self.graph[qkv].shape.clone(), d(self.graph, qkv));
        let op = Op::Text(TextOp::AttentionQkvGrad(heads));
        let reads = [shares, d_scores, qkv, dy];
        let d_qkv = self
            .graph
            .push_node(&name, op, &reads, &shape, DType::F32)?;
        self.give(qkv, d_qkv)
    }

    fn attention_fused(
        &mut self,
        node: &Node,
        dy: ValueId,
        heads: Heads,
    ) -> Result<(), GraphError> {
        let qkv = node.reads[0];
        let (output, lse) = (node.writes[0], node.writes[1]);
        let (name, rows) = (d(self.graph, qkv), self.graph[lse].shape.clone());
        let op = Op::Text(TextOp::AttentionDelta(heads));
        let delta = format!("{}.delta", node.name);
        let delta = self
            .graph
            .push_node(&delta, op, &[dy, output], &rows, DType::F32)?;
        let reads = [qkv, dy, lse, delta];
        let shape = self.graph[qkv].shape.clone();
        let op = Op::Text(TextOp::AttentionFusedQueryGrad(heads));
        let d_qkv = self
            .graph
            .push_node(&name, op, &reads, &shape, DType::F32)?;
        // The second kernel fills the other two thirds of the same value.
        let op = Op::Text(TextOp::AttentionFusedKeyValueGrad(heads));
        self.graph
            .push(&format!("{name}.key_value"), op, &reads, &[d_qkv]);
        self.give(qkv, d_qkv)
    }

    /// The loss ends the forward pass, so it has no gradient coming in.
    pub(super) fn linear_cross_entropy(
        &mut self,
        node: &Node,
        transposed: bool,
    ) -> Result<(), GraphError> {
        let [x, weight, labels] = node.reads[..] else {
            return Ok(());
        };
        let (rows, lse) = (matrix(&self.graph[x].shape, false).0, node.writes[1]);
        let (_, classes) = matrix(&self.graph[weight].shape, transposed);
        let (name, shape) = (d(self.graph, x), self.graph[x].shape.clone());
        let Some((gradient, accumulate)) = self.parameter_target(weight) else {
            return Err(GraphError::NoGradient {
                op: node.op.name(),
                node: node.name.clone(),
            });
        };
        let op = Op::Text(TextOp::LinearCrossEntropyGrad {
            transposed,
            accumulate,
        });
        let reads = [x, weight, labels, lse];
        let dx = self
            .graph
            .push_node(&name, op, &reads, &shape, DType::F32)?;
        let chunk = format!("{name}.chunk");
        self.graph
            .also_writes(&chunk, &[chunk_rows(rows), classes])?;
        if let Some(node) = self.graph.nodes.last_mut() {
            node.writes.push(gradient);
        }
        self.give(x, dx)
    }
}
