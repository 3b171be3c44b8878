//! MobileNet (Howard et al. 2017, arXiv:1704.04861): every layer a depthwise 3x3 and a pointwise 1x1 convolution, which
//! cost 1/out + 1/9 of the multiply-adds of one 3x3 convolution.

use super::layers::{After, conv_norm, depthwise_norm, head, round_channels, stem_stride};
use crate::experiment::MobileNet;
use crate::graph::{Graph, GraphError, ValueId, Window};

/// Channels and stride of the depthwise-separable layers: table 1 of the paper.
const LAYERS: [(usize, usize); 13] = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
];

pub(super) fn forward(
    graph: &mut Graph,
    mobilenet: &MobileNet,
    pictures: ValueId,
    classes: usize,
) -> Result<ValueId, GraphError> {
    let width = |channels: usize| round_channels(channels as f32 * mobilenet.width);
    let stem = Window::same(3, stem_stride(graph, pictures));
    let mut x = conv_norm(graph, "stem", pictures, width(32), stem, After::Relu6)?;
    for (index, (channels, stride)) in LAYERS.into_iter().take(mobilenet.layers).enumerate() {
        x = separable(graph, &format!("layer{index}"), x, width(channels), stride)?;
    }
    let x = graph.global_pool("pool", x)?;
    head(graph, x, classes)
}

/// A depthwise convolution that looks around, then a pointwise one that mixes the channels.
pub(super) fn separable(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    out: usize,
    stride: usize,
) -> Result<ValueId, GraphError> {
    let around = Window::same(3, stride);
    let x = depthwise_norm(graph, &format!("{name}.depthwise"), x, around, After::Relu6)?;
    let point = Window::same(1, 1);
    conv_norm(
        graph,
        &format!("{name}.pointwise"),
        x,
        out,
        point,
        After::Relu6,
    )
}
