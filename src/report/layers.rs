//! The layers of a network with their weights and multiply-adds, counted from the graph that is trained.

use crate::graph::{Graph, ImageOp, Node, Op, Phase, Program, ValueId, matrix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A layer: what stands in the graph under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Trainable numbers that are counted here: those that no earlier layer uses.
    pub parameters: usize,
    /// Trainable numbers it shares with an earlier layer, which counts them.
    pub shared_parameters: usize,
    /// Multiply-adds for one sample, forward.
    pub multiply_adds: u64,
    /// Shape of what it gives on, for one sample.
    pub output: Vec<usize>,
}

/// A depthwise and a pointwise convolution, beside the plain convolution they stand for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeparableReport {
    /// Name of the pointwise layer.
    pub name: String,
    /// Side of the depthwise window, the K of the MobileNet paper.
    pub kernel: usize,
    /// Output channels, its N.
    pub out_channels: usize,
    /// Multiply-adds of both for one sample.
    pub multiply_adds: u64,
    /// Multiply-adds of one plain convolution with the same window, input and output.
    pub plain_multiply_adds: u64,
    /// The first divided by the second, counted.
    pub ratio: f64,
    /// The same by the paper's formula, 1/N + 1/K² (Howard et al. 2017, arXiv:1704.04861, section 3.1).
    pub formula: f64,
}

/// The layers of the forward pass for one of `samples`.
pub(super) fn layers(graph: &Graph, samples: usize) -> Vec<LayerReport> {
    let mut layers: Vec<LayerReport> = Vec::new();
    let mut counted: BTreeMap<ValueId, ()> = BTreeMap::new();
    for node in forward(graph) {
        let parameters: Vec<ValueId> = node
            .reads
            .iter()
            .copied()
            .filter(|v| graph.parameters.iter().any(|p| p.value == *v))
            .collect();
        let products = graph.product_multiply_adds(node);
        if parameters.is_empty() && products.is_none() {
            continue;
        }
        // Weights that are used here first name the layer; shared ones belong to another.
        let own = parameters.iter().find(|p| !counted.contains_key(p));
        let name = layer_name(own.map_or(&node.name, |p| &graph[*p].name));
        let at = layers.iter().position(|layer| layer.name == name);
        let at = at.unwrap_or_else(|| {
            layers.push(LayerReport {
                name: name.into(),
                parameters: 0,
                shared_parameters: 0,
                multiply_adds: 0,
                output: Vec::new(),
            });
            layers.len() - 1
        });
        let layer = &mut layers[at];
        for parameter in parameters {
            let elements = graph[parameter].elements();
            match counted.insert(parameter, ()) {
                None => layer.parameters += elements,
                Some(()) => layer.shared_parameters += elements,
            }
        }
        layer.multiply_adds += products.unwrap_or(0) / samples.max(1) as u64;
        layer.output = per_sample(&graph[node.writes[0]].shape, samples);
    }
    layers
}

/// Every depthwise convolution whose output a pointwise one mixes, with nothing between that changes the shape.
pub(super) fn separable(graph: &Graph, samples: usize) -> Vec<SeparableReport> {
    let mut found = Vec::new();
    let mut depthwise: Option<(&Node, usize)> = None;
    for node in forward(graph) {
        match &node.op {
            Op::Image(ImageOp::Depthwise { window }) => depthwise = Some((node, window.kernel)),
            Op::Matmul { .. } => {
                let Some((around, kernel)) = depthwise.take() else {
                    continue;
                };
                let (places, channels) = matrix(&graph[around.writes[0]].shape, false);
                if matrix(&graph[node.reads[0]].shape, false) != (places, channels) {
                    continue;
                }
                let (_, out_channels) = matrix(&graph[node.writes[0]].shape, false);
                let both = [around, node].map(|n| graph.product_multiply_adds(n).unwrap_or(0));
                let multiply_adds = both.iter().sum::<u64>() / samples.max(1) as u64;
                let weights = kernel * kernel * channels * out_channels;
                let plain_multiply_adds = (places / samples.max(1)) as u64 * weights as u64;
                found.push(SeparableReport {
                    name: layer_name(&node.name).into(),
                    kernel,
                    out_channels,
                    multiply_adds,
                    plain_multiply_adds,
                    ratio: multiply_adds as f64 / plain_multiply_adds.max(1) as f64,
                    formula: 1.0 / out_channels as f64 + 1.0 / (kernel * kernel) as f64,
                });
            }
            _ => {}
        }
    }
    found
}

fn forward(graph: &Graph) -> impl Iterator<Item = &Node> {
    let nodes = graph.program(Program::Accumulate).map(|(_, node)| node);
    nodes.filter(|node| node.phase == Phase::Forward)
}

/// The layer a node belongs to: its name without the last part.
fn layer_name(node: &str) -> &str {
    node.rsplit_once('.').map_or(node, |(layer, _)| layer)
}

/// A shape without the axis of the samples; rows that are positions of samples are split.
fn per_sample(shape: &[usize], samples: usize) -> Vec<usize> {
    match shape {
        [first, rest @ ..] if *first == samples => rest.to_vec(),
        [first, rest @ ..] if first.is_multiple_of(samples.max(1)) => {
            let positions = first / samples.max(1);
            std::iter::once(positions)
                .chain(rest.iter().copied())
                .collect()
        }
        _ => shape.to_vec(),
    }
}
