//! EfficientNet (Tan and Le 2019, arXiv:1905.11946): inverted bottlenecks (Sandler et al. 2018, arXiv:1801.04381) with
//! squeeze-and-excitation (Hu et al. 2017, arXiv:1709.01507), whose depth and width grow together.

use super::layers::{
    After, conv_norm, depthwise_norm, he_bound, head, linear, round_channels, stem_stride,
};
use crate::experiment::EfficientNet;
use crate::graph::{Graph, GraphError, ValueId, Window};

/// One stage of the network.
struct Stage {
    /// How many times wider the inside of a block is than its input.
    expand: usize,
    /// Channels of its output.
    channels: usize,
    /// Blocks.
    repeats: usize,
    /// Stride of the first block.
    stride: usize,
    /// Side of the depthwise window.
    kernel: usize,
}

const fn stage(
    expand: usize,
    channels: usize,
    repeats: usize,
    stride: usize,
    kernel: usize,
) -> Stage {
    Stage {
        expand,
        channels,
        repeats,
        stride,
        kernel,
    }
}

/// EfficientNet-B0: table 1 of the paper.
const STAGES: [Stage; 7] = [
    stage(1, 16, 1, 1, 3),
    stage(6, 24, 2, 2, 3),
    stage(6, 40, 2, 2, 5),
    stage(6, 80, 3, 2, 3),
    stage(6, 112, 3, 1, 5),
    stage(6, 192, 4, 2, 5),
    stage(6, 320, 1, 1, 3),
];
/// Channels of the stem, and how many times wider than the last stage the layer before the head is.
const STEM_CHANNELS: usize = 32;
const TOP_FACTOR: usize = 4;

/// One block: its sizes beside those of its input.
struct Block {
    expand: usize,
    out: usize,
    squeeze: f32,
    window: Window,
}

pub(super) fn forward(
    graph: &mut Graph,
    efficientnet: &EfficientNet,
    pictures: ValueId,
    classes: usize,
    training: bool,
) -> Result<ValueId, GraphError> {
    let (wide, deep) = (efficientnet.width_factor(), efficientnet.depth_factor());
    let width = |channels: usize| round_channels(channels as f32 * wide);
    let stem = Window::same(3, stem_stride(graph, pictures));
    let mut x = conv_norm(
        graph,
        "stem",
        pictures,
        width(STEM_CHANNELS),
        stem,
        After::Silu,
    )?;
    let mut index = 0;
    for stage in STAGES.iter().take(efficientnet.stages) {
        let repeats = (stage.repeats as f32 * deep).ceil().max(1.0) as usize;
        for repeat in 0..repeats {
            let stride = if repeat == 0 { stage.stride } else { 1 };
            let block = Block {
                expand: stage.expand,
                out: width(stage.channels),
                squeeze: efficientnet.squeeze,
                window: Window::same(stage.kernel, stride),
            };
            x = mbconv(graph, &format!("block{index}"), x, &block)?;
            index += 1;
        }
    }
    let (_, _, last) = graph.picture(x);
    let x = conv_norm(
        graph,
        "top",
        x,
        TOP_FACTOR * last,
        Window::same(1, 1),
        After::Silu,
    )?;
    let mut x = graph.global_pool("pool", x)?;
    if training && efficientnet.dropout > 0.0 {
        x = graph.dropout("dropout", x, efficientnet.dropout)?;
    }
    head(graph, x, classes)
}

/// MBConv: widen, look around, weigh the channels, narrow; added to its input where the shapes agree.
fn mbconv(
    graph: &mut Graph,
    name: &str,
    input: ValueId,
    block: &Block,
) -> Result<ValueId, GraphError> {
    let (_, _, channels) = graph.picture(input);
    let (point, mut x) = (Window::same(1, 1), input);
    if block.expand > 1 {
        let inside = channels * block.expand;
        x = conv_norm(
            graph,
            &format!("{name}.expand"),
            x,
            inside,
            point,
            After::Silu,
        )?;
    }
    x = depthwise_norm(
        graph,
        &format!("{name}.depthwise"),
        x,
        block.window,
        After::Silu,
    )?;
    let kept = ((channels as f32 * block.squeeze) as usize).max(1);
    x = squeeze_excite(graph, name, x, kept)?;
    x = conv_norm(
        graph,
        &format!("{name}.project"),
        x,
        block.out,
        point,
        After::Nothing,
    )?;
    if block.window.stride == 1 && block.out == channels {
        x = graph.add(&format!("{name}.add"), x, input)?;
    }
    Ok(x)
}

/// Weighs each channel by what the whole picture says: mean, two small layers, logistic function.
fn squeeze_excite(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    kept: usize,
) -> Result<ValueId, GraphError> {
    let (_, _, channels) = graph.picture(x);
    let mean = graph.global_pool(&format!("{name}.squeeze.pool"), x)?;
    let bound = he_bound(6.0, channels);
    let inside = linear(graph, &format!("{name}.squeeze"), mean, kept, bound)?;
    let inside = graph.silu(&format!("{name}.squeeze.silu"), inside)?;
    let bound = he_bound(3.0, kept);
    let weights = linear(graph, &format!("{name}.excite"), inside, channels, bound)?;
    let weights = graph.sigmoid(&format!("{name}.excite.sigmoid"), weights)?;
    graph.channel_scale(&format!("{name}.excite.scale"), x, weights)
}
