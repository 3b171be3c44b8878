//! Reverse-mode differentiation: adds to a graph the nodes that compute the gradient of every parameter.

mod image;
mod text;

use super::{
    Accumulate, Axis, Class, Graph, GraphError, Node, Op, Phase, Program, TextOp, ValueId, matrix,
};
use crate::dtype::DType;
use std::collections::{BTreeMap, BTreeSet};

/// Adds the backward pass of the forward nodes of `accumulate`: one persistent gradient per parameter, named after it
/// with a leading `d_`. The gradient is that of the mean loss over the samples of the window.
///
/// # Errors
/// [`GraphError::NoGradient`] if a parameter is reached only through an operation that has none.
pub fn backward(graph: &mut Graph) -> Result<(), GraphError> {
    let forward: Vec<Node> = graph
        .program(Program::Accumulate)
        .map(|(_, n)| n.clone())
        .collect();
    graph.enter(Program::Accumulate, Phase::Backward);
    for index in 0..graph.parameters.len() {
        let value = &graph[graph.parameters[index].value];
        let (name, shape) = (format!("d_{}", value.name), value.shape.clone());
        let gradient = graph.persistent(&name, &shape, DType::F32, Class::Gradients);
        graph.parameters[index].gradient = Some(gradient);
    }
    let mut pass = Pass::new(graph, &forward);
    for node in forward.iter().rev() {
        pass.node(node)?;
    }
    Ok(())
}

/// The state of one backward pass.
struct Pass<'g> {
    graph: &'g mut Graph,
    /// Values through which a parameter is reached; the others need no gradient.
    needs: BTreeSet<ValueId>,
    /// Gradient of each transient value, as far as its users have been seen.
    gradients: BTreeMap<ValueId, ValueId>,
    /// Parameters whose gradient has been written in this pass.
    written: BTreeSet<ValueId>,
}

impl<'g> Pass<'g> {
    fn new(graph: &'g mut Graph, forward: &[Node]) -> Self {
        let mut needs: BTreeSet<ValueId> = graph.parameters.iter().map(|p| p.value).collect();
        for node in forward {
            if node.reads.iter().any(|v| needs.contains(v)) {
                needs.extend(node.writes.iter().copied());
            }
        }
        Self {
            graph,
            needs,
            gradients: BTreeMap::new(),
            written: BTreeSet::new(),
        }
    }

    fn node(&mut self, node: &Node) -> Result<(), GraphError> {
        if !node.reads.iter().any(|v| self.needs.contains(v)) {
            return Ok(());
        }
        if node.op == Op::CrossEntropy {
            let (logits, labels, lse) = (node.reads[0], node.reads[1], node.writes[1]);
            let d = self.graph.map(
                &d(self.graph, logits),
                Op::CrossEntropyGrad,
                &[logits, labels, lse],
            )?;
            return self.give(logits, d);
        }
        if let Op::Text(TextOp::LinearCrossEntropy { transposed }) = node.op {
            return self.linear_cross_entropy(node, transposed);
        }
        let Some(dy) = self.gradients.get(&node.writes[0]).copied() else {
            // The loss itself, or an output that the loss does not depend on.
            return Ok(());
        };
        let x = node.reads[0];
        let dx_name = d(self.graph, x);
        match &node.op {
            Op::Matmul {
                trans_a, trans_b, ..
            } => self.matmul(node, dy, *trans_a, *trans_b),
            Op::Bias => {
                let b = node.reads[1];
                if self.needs.contains(&b) {
                    let shape = self.graph[b].shape.clone();
                    self.reduce_into(b, dy, Axis::Rows, 1.0, &shape)?;
                }
                self.give(x, dy)
            }
            Op::Relu => self.map_into(x, &dx_name, Op::ReluGrad, &[dy, node.writes[0]]),
            Op::Gelu { tanh } => self.map_into(x, &dx_name, Op::GeluGrad { tanh: *tanh }, &[dy, x]),
            Op::Dropout { .. } | Op::Scale { .. } => {
                self.map_into(x, &dx_name, node.op.clone(), &[dy])
            }
            Op::Add => {
                self.give(x, dy)?;
                self.give(node.reads[1], dy)
            }
            Op::Reshape => {
                let shape = self.graph[x].shape.clone();
                let dx = self.graph.reshape(&dx_name, dy, &shape)?;
                self.give(x, dx)
            }
            Op::Reduce { axis, factor, .. } => {
                let shape = self.graph[x].shape.clone();
                let op = Op::Broadcast {
                    axis: *axis,
                    factor: *factor,
                };
                let dx = self
                    .graph
                    .push_node(&dx_name, op, &[dy], &shape, DType::F32)?;
                self.give(x, dx)
            }
            Op::Broadcast { axis, factor } => {
                let shape = self.graph[x].shape.clone();
                self.reduce_into(x, dy, *axis, *factor, &shape)
            }
            Op::Cast { from, to } => {
                let shape = self.graph[x].shape.clone();
                let op = Op::Cast {
                    from: *to,
                    to: *from,
                };
                let dx = self.graph.push_node(&dx_name, op, &[dy], &shape, *from)?;
                self.give(x, dx)
            }
            Op::Image(op) => self.image(node, *op, dy),
            Op::Text(op) => self.text(node, *op, dy),
            _ => Err(GraphError::NoGradient {
                op: node.op.name(),
                node: node.name.clone(),
            }),
        }
    }

    /// For C = A·B: dA = dC·Bᵀ and dB = Aᵀ·dC, with the transposes of A and B moved to where they cost nothing.
    fn matmul(
        &mut self,
        node: &Node,
        dc: ValueId,
        trans_a: bool,
        trans_b: bool,
    ) -> Result<(), GraphError> {
        let (a, b) = (node.reads[0], node.reads[1]);
        let sides = [
            (
                a,
                if trans_a {
                    (b, dc, trans_b, true)
                } else {
                    (dc, b, false, !trans_b)
                },
            ),
            (
                b,
                if trans_b {
                    (dc, a, true, trans_a)
                } else {
                    (a, dc, !trans_a, false)
                },
            ),
        ];
        for (target, (left, right, trans_a, trans_b)) in sides {
            if !self.needs.contains(&target) {
                continue;
            }
            let name = d(self.graph, target);
            if let Some((gradient, accumulate)) = self.parameter_target(target) {
                let op = Op::Matmul {
                    trans_a,
                    trans_b,
                    accumulate,
                };
                self.graph.push(&name, op, &[left, right], &[gradient]);
            } else {
                let shape = self.graph[target].shape.clone();
                let op = Op::Matmul {
                    trans_a,
                    trans_b,
                    accumulate: Accumulate::Overwrite,
                };
                let dx = self
                    .graph
                    .push_node(&name, op, &[left, right], &shape, DType::F32)?;
                self.give(target, dx)?;
            }
        }
        Ok(())
    }

    fn map_into(
        &mut self,
        x: ValueId,
        name: &str,
        op: Op,
        reads: &[ValueId],
    ) -> Result<(), GraphError> {
        let dx = self.graph.map(name, op, reads)?;
        self.give(x, dx)
    }

    /// Gives `target` the sum of `dy` over `axis`; straight into the gradient where `target` is a parameter.
    fn reduce_into(
        &mut self,
        target: ValueId,
        dy: ValueId,
        axis: Axis,
        factor: f32,
        shape: &[usize],
    ) -> Result<(), GraphError> {
        let name = d(self.graph, target);
        if let Some((gradient, accumulate)) = self.parameter_target(target) {
            let op = Op::Reduce {
                axis,
                factor,
                per_sample: false,
                accumulate,
            };
            self.graph.push(&name, op, &[dy], &[gradient]);
            return Ok(());
        }
        let op = Op::Reduce {
            axis,
            factor,
            per_sample: false,
            accumulate: Accumulate::Overwrite,
        };
        let dx = self.graph.push_node(&name, op, &[dy], shape, DType::F32)?;
        self.give(target, dx)
    }

    /// Where the next contribution to a parameter's gradient goes, and whether it is the first of this pass.
    fn parameter_target(&mut self, target: ValueId) -> Option<(ValueId, Accumulate)> {
        let gradient = self
            .graph
            .parameters
            .iter()
            .find(|p| p.value == target)?
            .gradient?;
        let accumulate = if self.written.insert(target) {
            Accumulate::OverWindow
        } else {
            Accumulate::Always
        };
        Some((gradient, accumulate))
    }

    /// Adds `contribution` to the gradient of `target`.
    fn give(&mut self, target: ValueId, contribution: ValueId) -> Result<(), GraphError> {
        if !self.needs.contains(&target) {
            return Ok(());
        }
        if self.parameter_target_exists(target) {
            // A sum over an axis of length 1 is a copy that can add: no kernel of its own is needed.
            let (rows, cols) = matrix(&self.graph[contribution].shape, false);
            let column = self.graph.reshape(
                &format!("{}.column", d(self.graph, target)),
                contribution,
                &[rows * cols, 1],
            )?;
            let shape = [rows * cols];
            return self.reduce_into(target, column, Axis::Cols, 1.0, &shape);
        }
        let sum = match self.gradients.get(&target).copied() {
            None => contribution,
            Some(earlier) => self
                .graph
                .add(&d(self.graph, target), earlier, contribution)?,
        };
        self.gradients.insert(target, sum);
        Ok(())
    }

    fn parameter_target_exists(&self, target: ValueId) -> bool {
        self.graph.parameters.iter().any(|p| p.value == target)
    }
}

/// The name of a gradient.
fn d(graph: &Graph, value: ValueId) -> String {
    format!("d_{}", graph[value].name)
}
