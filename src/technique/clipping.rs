//! Clipping by the global norm: one factor for the whole gradient, found on the device and read by the optimizer there.

use super::Technique;
use crate::dtype::DType;
use crate::graph::{Class, Graph, GraphError, NORM_PARTIALS, Op, ValueId};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "gradient clipping",
    explanation: "A step whose gradient is longer than a limit is scaled down to it (Pascanu et al. 2013, \
        arXiv:1211.5063), once per update and over all parameters together. The norm is also a good sign of the run's \
        health, so it is measured whether or not a limit is set.",
    promise: "Costs 64 partial sums per parameter for a moment of the update, and no wait: the factor never leaves the device.",
};

/// Adds the nodes of the global norm to `update`. Gives the persistent value [norm before clipping, clip factor].
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn global_norm(graph: &mut Graph) -> Result<ValueId, GraphError> {
    let norm = graph.persistent("gradient_norm", &[2], DType::F32, Class::Workspace);
    let gradients: Vec<ValueId> = graph.parameters.iter().filter_map(|p| p.gradient).collect();
    let partials = graph.transient(
        "gradient_norm.partials",
        &[gradients.len() * NORM_PARTIALS],
        DType::F32,
    )?;
    for (index, gradient) in gradients.into_iter().enumerate() {
        let name = format!("{}.sum_of_squares", graph[gradient].name);
        graph.push(
            &name,
            Op::NormPartials {
                offset: index * NORM_PARTIALS,
            },
            &[gradient],
            &[partials],
        );
    }
    graph.push("gradient_norm", Op::NormFinish, &[partials], &[norm]);
    Ok(norm)
}
