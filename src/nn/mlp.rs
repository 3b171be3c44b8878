//! Multi-layer perceptron: linear, activation, dropout, and so on to the logits.

use crate::experiment::{Activation, Mlp};
use crate::graph::{Graph, GraphError, Init, ValueId, matrix};

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
        x = linear(graph, &layer, x, *width, 6.0)?;
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
    linear(graph, "head", x, classes, 1.0)
}

/// `x · W + b` with W [in, out]. Weights start uniform with the variance `gain / (3 in)`: gain 6 keeps the signal's size
/// through layers that zero half of it (He et al. 2015, arXiv:1502.01852); the head starts smaller, so that the first
/// loss is near that of an even guess.
fn linear(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    out: usize,
    gain: f32,
) -> Result<ValueId, GraphError> {
    let (_, fan_in) = matrix(&graph[x].shape, false);
    let bound = (gain / fan_in as f32).sqrt();
    let weight = graph.parameter(
        &format!("{name}.weight"),
        &[fan_in, out],
        Init::Uniform { bound },
    )?;
    let bias = graph.parameter(&format!("{name}.bias"), &[out], Init::Zeros)?;
    let product = graph.matmul(&format!("{name}.matmul"), x, weight, false, false)?;
    graph.bias(&format!("{name}.add_bias"), product, bias)
}

fn activation_name(activation: Activation) -> &'static str {
    match activation {
        Activation::Relu => "relu",
        Activation::Gelu | Activation::GeluTanh => "gelu",
    }
}
