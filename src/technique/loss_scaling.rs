//! Dynamic loss scaling: the gradient is made larger where it enters the backward pass, so that its small numbers survive
//! in half precision, and as much smaller again where the optimizer reads it.

use super::Technique;
use crate::dtype::DType;
use crate::experiment::{LossScale, Optimizer, OptimizerKind};
use crate::graph::{Class, Graph, GraphError, Init, Op, SCALE_VALUES, TextOp, ValueId};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "loss scaling",
    explanation: "F16 cannot hold numbers below 6e-8, and many gradients are smaller. Multiplying the gradient of the \
        loss by 65536 moves all others up with it; the optimizer divides by the same number (Micikevicius et al. 2017, \
        arXiv:1710.03740). The scale looks for its own size: it doubles after a number of good updates in a row and \
        halves when a gradient overflows. The update is then not made at all: weights, optimizer state and the count of \
        updates stay as they are. The device decides this by itself, so no step waits for the host.",
    promise: "32 bytes, and one pass over the gradient of the logits. Norm and clipping are those of the true gradient.",
};

/// Adds the scale as a persistent value and multiplies by it every gradient of a loss.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn rewrite(
    graph: &mut Graph,
    scale: LossScale,
    optimizer: &Optimizer,
) -> Result<ValueId, GraphError> {
    let [beta1, beta2] = decays(optimizer);
    let init = Init::Scale {
        initial: scale.initial,
        bias1: 1.0 - beta1,
        bias2: 1.0 - beta2,
    };
    let value = graph.persistent("loss_scale", &[SCALE_VALUES], DType::F32, Class::Workspace);
    graph.set_init(value, init);
    let nodes = std::mem::take(&mut graph.nodes);
    let mut scaled: Option<(ValueId, ValueId)> = None;
    for mut node in nodes {
        if let Some((from, to)) = scaled {
            for read in node.reads.iter_mut().filter(|read| **read == from) {
                *read = to;
            }
        }
        let fused = matches!(node.op, Op::Text(TextOp::LinearCrossEntropyGrad { .. }));
        if fused {
            // It makes the gradient of the logits a few rows at a time and scales each piece.
            node.reads.push(value);
        }
        let plain = node.op == Op::CrossEntropyGrad;
        let (program, phase, block) = (node.program, node.phase, node.block);
        let gradient = node.writes.first().copied();
        graph.nodes.push(node);
        if let (true, Some(gradient)) = (plain, gradient) {
            graph.enter(program, phase);
            let name = format!("{}.scaled", graph[gradient].name);
            let output = graph.scale_by(&name, gradient, value)?;
            if let Some(last) = graph.nodes.last_mut() {
                last.block = block;
            }
            scaled = Some((gradient, output));
        }
    }
    Ok(value)
}

/// Adds the node that finds the scale of the next update.
pub fn next_scale(
    graph: &mut Graph,
    scale: LossScale,
    optimizer: &Optimizer,
    [norm, value]: [ValueId; 2],
) {
    let [beta1, beta2] = decays(optimizer);
    let op = Op::LossScale {
        growth_every: scale.growth_every,
        beta1,
        beta2,
    };
    graph.push("loss_scale", op, &[norm], &[value]);
}

/// The decays whose bias has to follow the updates that were really made; 0, with no bias, for rules without.
fn decays(optimizer: &Optimizer) -> [f32; 2] {
    match optimizer.kind {
        OptimizerKind::Adam | OptimizerKind::Adamw | OptimizerKind::Adamw8bit => {
            [optimizer.beta1, optimizer.beta2]
        }
        _ => [0.0, 0.0],
    }
}
