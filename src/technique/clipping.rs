//! Clipping by the global norm: one factor for the whole gradient, found on the device and read by the optimizer there.

use super::Technique;
use crate::dtype::DType;
use crate::graph::{Class, Graph, GraphError, NORM_PARTIALS, NORM_VALUES, Op, ValueId};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "gradient clipping",
    explanation: "A step whose gradient is longer than a limit is scaled down to it (Pascanu et al. 2013, \
        arXiv:1211.5063), once per update and over all parameters together. The norm is also a good sign of the run's \
        health, so it is measured whether or not a limit is set.",
    promise: "Costs 64 partial sums per parameter for a moment of the update, and no wait: the factor never leaves the device.",
};

/// The value that update rules read: [`NORM_VALUES`] numbers.
pub fn norm_value(graph: &mut Graph) -> ValueId {
    let workspace = Class::Workspace;
    graph.persistent("gradient_norm", &[NORM_VALUES], DType::F32, workspace)
}

/// Adds the nodes of the global norm. Gives the value of [`norm_value`]. `scale` is the scale of the loss, where there
/// is one: the norm and the limit are those of the gradient without it.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn global_norm(graph: &mut Graph, scale: Option<ValueId>) -> Result<ValueId, GraphError> {
    let norm = norm_value(graph);
    let gradients: Vec<ValueId> = graph.parameters.iter().filter_map(|p| p.gradient).collect();
    let count = gradients.len() * NORM_PARTIALS;
    let partials = graph.transient("gradient_norm.partials", &[count], DType::F32)?;
    for (index, gradient) in gradients.into_iter().enumerate() {
        sum_of_squares(graph, gradient, partials, index);
    }
    finish(graph, "gradient_norm", partials, (0, count), scale, norm);
    Ok(norm)
}

/// Adds the partial sums of one gradient, the `index`-th of those in `partials`.
pub fn sum_of_squares(graph: &mut Graph, gradient: ValueId, partials: ValueId, index: usize) {
    let name = format!("{}.sum_of_squares", graph[gradient].name);
    let offset = index * NORM_PARTIALS;
    graph.push(&name, Op::NormPartials { offset }, &[gradient], &[partials]);
}

/// Adds the norm from `count` partial sums of which the first has the number `offset`.
pub fn finish(
    graph: &mut Graph,
    name: &str,
    partials: ValueId,
    (offset, count): (usize, usize),
    scale: Option<ValueId>,
    norm: ValueId,
) {
    let scaled = scale.is_some();
    let reads: Vec<ValueId> = std::iter::once(partials).chain(scale).collect();
    let op = Op::NormFinish {
        offset,
        count,
        scaled,
    };
    graph.push(name, op, &reads, &[norm]);
}
