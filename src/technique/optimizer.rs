//! Optimizers: how many bytes of state each keeps beside the weights, and the nodes that update them.

use super::Technique;
use crate::dtype::DType;
use crate::experiment::{Optimizer, OptimizerKind};
use crate::graph::{Class, Graph, Op, Rule, ValueId};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "light optimizers",
    explanation: "An optimizer may keep numbers of its own for every weight. Plain gradient descent keeps none, momentum \
        one (the velocity), Adam two (the mean of the gradient and of its square). On a network whose weights outweigh \
        its activations, the choice of optimizer decides what fits.",
    promise: "Optimizer state in F32: SGD 0, momentum 4, Adam and AdamW 8 bytes per weight. The price of a lighter one is \
        paid in steps: it usually needs more of them, or a better-tuned learning rate.",
};

/// Names of the state values each rule keeps per parameter, in the order of the kernel's bindings.
pub fn state_names(kind: OptimizerKind) -> &'static [&'static str] {
    match kind {
        OptimizerKind::Sgd => &[],
        OptimizerKind::Momentum => &["velocity"],
        OptimizerKind::Adam | OptimizerKind::Adamw => &["mean", "mean_of_squares"],
    }
}

/// Adds one update node per parameter to `update`, with its state as persistent values that start at zero. `norm` is
/// the value of [`super::clipping::global_norm`].
pub fn update(graph: &mut Graph, optimizer: &Optimizer, norm: ValueId) {
    for parameter in graph.parameters.clone() {
        let Some(gradient) = parameter.gradient else {
            continue;
        };
        let weights = graph[parameter.value].clone();
        let mut writes = vec![parameter.value];
        for state in state_names(optimizer.kind) {
            let name = format!("{}.{state}", weights.name);
            writes.push(graph.persistent(&name, &weights.shape, DType::F32, Class::OptimizerState));
        }
        let name = format!("{}.{}", weights.name, optimizer.kind.name());
        graph.push(
            &name,
            Op::Update(rule(optimizer)),
            &[norm, gradient],
            &writes,
        );
    }
}

fn rule(optimizer: &Optimizer) -> Rule {
    let Optimizer {
        momentum,
        nesterov,
        beta1,
        beta2,
        eps,
        weight_decay,
        ..
    } = *optimizer;
    match optimizer.kind {
        OptimizerKind::Sgd => Rule::Sgd { weight_decay },
        OptimizerKind::Momentum => Rule::Momentum {
            momentum,
            nesterov,
            weight_decay,
        },
        OptimizerKind::Adam => Rule::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
            decoupled: false,
        },
        OptimizerKind::Adamw => Rule::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
            decoupled: true,
        },
    }
}
