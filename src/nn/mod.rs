//! Models as graph builders. A model knows nothing of techniques, memory or devices.

mod mlp;

use crate::experiment::Model;
use crate::graph::{Graph, GraphError, ValueId};

/// Adds the layers of `model` to `graph`: from `features` [rows, ...] to logits [rows, classes].
///
/// Called once for training and once for evaluation; the second call finds the parameters of the first by name.
/// `training` switches dropout on.
///
/// # Errors
/// Names the layer and both shapes where two do not fit.
pub fn forward(
    graph: &mut Graph,
    model: &Model,
    features: ValueId,
    classes: usize,
    training: bool,
) -> Result<ValueId, GraphError> {
    match model {
        Model::Mlp(mlp) => mlp::forward(graph, mlp, features, classes, training),
    }
}
