//! Multi-layer perceptron: linear, activation, dropout, and so on to the logits.

use super::layers::{he_bound, head, linear};
use crate::experiment::{Activation, Mlp};
use crate::graph::{Graph, GraphError, ValueId, matrix};

/// Builds the layers of `mlp`; `features` [rows, ...] counts as a matrix [rows, in].
pub(super) fn forward(
    graph: &mut Graph,
    mlp: &Mlp,
    features: ValueId,
    classes: usize,
    training: bool,
) -> Result<ValueId, GraphError> {
    let mut x = features;
    for (index, width) in mlp.hidden.iter().enumerate() {
        let layer = format!("layer{index}");
        let (_, fan_in) = matrix(&graph[x].shape, false);
        x = linear(graph, &layer, x, *width, he_bound(6.0, fan_in))?;
        let name = format!("{layer}.{}", activation_name(mlp.activation));
        x = match mlp.activation {
            Activation::Relu => graph.relu(&name, x)?,
            Activation::Gelu => graph.gelu(&name, x, false)?,
            Activation::GeluTanh => graph.gelu(&name, x, true)?,
        };
        if training && mlp.dropout > 0.0 {
            x = graph.dropout(&format!("{layer}.dropout"), x, mlp.dropout)?;
        }
    }
    head(graph, x, classes)
}

fn activation_name(activation: Activation) -> &'static str {
    match activation {
        Activation::Relu => "relu",
        Activation::Gelu | Activation::GeluTanh => "gelu",
    }
}
