//! Released gradients: each weight is updated inside the backward pass, as soon as its gradient is complete, and the
//! bytes of the gradient are free for the next one.

use super::{Technique, clipping, optimizer};
use crate::dtype::DType;
use crate::experiment::Optimizer;
use crate::graph::{
    Class, Graph, GraphError, NORM_PARTIALS, NORM_VALUES, Parameter, Phase, Program, ValueId,
};
use std::collections::BTreeMap;

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "released gradients",
    explanation: "Usually all gradients are complete before the first weight changes. If each weight is updated right \
        after the last use of its old value in the backward pass, its gradient can be freed at once (LOMO: Lv et al. \
        2023, arXiv:2306.09782). What needs all gradients at the same time is then impossible: clipping by their global \
        norm, and adding them up over micro-batches. Under loss scaling each weight skips its own update if its own \
        gradient is no finite number.",
    promise: "Gradients shrink from the bytes of all weights to those of the largest few that are alive together. The \
        update is the same to the last bit.",
};

/// Adds to `accumulate` the update of every parameter behind the last node that needs its gradient or its old value.
/// Gives the value of the norm, which here is known at the end.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn update(
    graph: &mut Graph,
    optimizer: &Optimizer,
    scale: Option<ValueId>,
) -> Result<ValueId, GraphError> {
    let norm = clipping::norm_value(graph);
    graph.enter(Program::Accumulate, Phase::Update);
    let mut due = due(graph);
    let count = graph.parameters.len() * NORM_PARTIALS;
    let partials = graph.transient("gradient_norm.partials", &[count], DType::F32)?;
    let mut done = 0;
    let nodes = std::mem::take(&mut graph.nodes);
    for (index, node) in nodes.into_iter().enumerate() {
        let block = node.block;
        graph.nodes.push(node);
        let begin = graph.nodes.len();
        for parameter in due.remove(&index).unwrap_or_default() {
            let Some(gradient) = parameter.gradient else {
                continue;
            };
            clipping::sum_of_squares(graph, gradient, partials, done);
            // Its own norm carries the factor, and whether its own gradient is fit for an update.
            let name = format!("{}.norm", graph[gradient].name);
            let own = graph.transient(&name, &[NORM_VALUES], DType::F32)?;
            let range = (done * NORM_PARTIALS, NORM_PARTIALS);
            clipping::finish(graph, &name, partials, range, scale, own);
            optimizer::update_one(graph, optimizer, parameter, own)?;
            graph.make_transient(gradient, Class::Gradients);
            done += 1;
        }
        for added in graph.nodes.iter_mut().skip(begin) {
            added.block = block;
        }
    }
    clipping::finish(graph, "gradient_norm", partials, (0, count), scale, norm);
    Ok(norm)
}

/// The parameters by the last node of `accumulate` that reads them or writes their gradient.
fn due(graph: &Graph) -> BTreeMap<usize, Vec<Parameter>> {
    let mut due: BTreeMap<usize, Vec<Parameter>> = BTreeMap::new();
    for parameter in &graph.parameters {
        let last = graph.program(Program::Accumulate).filter(|(_, node)| {
            let writes = parameter.gradient.is_some_and(|g| node.writes.contains(&g));
            writes || node.reads.contains(&parameter.value)
        });
        if let Some((id, _)) = last.last() {
            due.entry(id.0).or_default().push(*parameter);
        }
    }
    due
}
