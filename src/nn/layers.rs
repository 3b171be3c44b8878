//! Layers that several models share.

use crate::graph::{Graph, GraphError, Init, ValueId, Window, matrix};

/// Share of a new batch in the running statistics of batch normalisation, and what is added to the variance: the values
/// PyTorch has.
const BATCH_NORM_MOMENTUM: f32 = 0.1;
pub(super) const NORM_EPS: f32 = 1e-5;

/// The activation after a convolution.
#[derive(Clone, Copy)]
pub(super) enum After {
    Nothing,
    Relu,
    Relu6,
    Silu,
}

/// Bound of uniform weights with the variance `gain / (3 fan_in)`: gain 6 keeps the signal's size through layers that
/// zero half of it (He et al. 2015, arXiv:1502.01852).
pub(super) fn he_bound(gain: f32, fan_in: usize) -> f32 {
    (gain / fan_in as f32).sqrt()
}

/// `x · W + b` with W [in, out], uniform in [-bound, bound] at the start.
pub(super) fn linear(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    out: usize,
    bound: f32,
) -> Result<ValueId, GraphError> {
    let (_, fan_in) = matrix(&graph[x].shape, false);
    let init = Init::Uniform { bound };
    let weight = graph.parameter(&format!("{name}.weight"), &[fan_in, out], init)?;
    let bias = graph.parameter(&format!("{name}.bias"), &[out], Init::Zeros)?;
    let product = graph.matmul(&format!("{name}.matmul"), x, weight, false, false)?;
    graph.bias(&format!("{name}.add_bias"), product, bias)
}

/// The head of a classifier. It starts smaller than other layers, so that the first loss is near that of an even guess.
pub(super) fn head(graph: &mut Graph, x: ValueId, classes: usize) -> Result<ValueId, GraphError> {
    let (_, fan_in) = matrix(&graph[x].shape, false);
    linear(graph, "head", x, classes, he_bound(1.0, fan_in))
}

/// Convolution without bias, batch normalisation, activation. A 1x1 convolution is a matrix product of all pixels.
pub(super) fn conv_norm(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    out: usize,
    window: Window,
    after: After,
) -> Result<ValueId, GraphError> {
    let (_, _, channels) = graph.picture(x);
    let fan_in = window.kernel * window.kernel * channels;
    let init = Init::Uniform {
        bound: he_bound(6.0, fan_in),
    };
    let weight = format!("{name}.weight");
    let y = if window == Window::same(1, 1) {
        let weight = graph.parameter(&weight, &[channels, out], init)?;
        graph.matmul(&format!("{name}.matmul"), x, weight, false, false)?
    } else {
        let shape = [window.kernel, window.kernel, channels, out];
        let weight = graph.parameter(&weight, &shape, init)?;
        graph.conv(&format!("{name}.conv"), x, weight, window, 1)?
    };
    norm_after(graph, name, y, after)
}

/// Depthwise convolution without bias, batch normalisation, activation.
pub(super) fn depthwise_norm(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    window: Window,
    after: After,
) -> Result<ValueId, GraphError> {
    let (_, _, channels) = graph.picture(x);
    let kernel = window.kernel;
    let init = Init::Uniform {
        bound: he_bound(6.0, kernel * kernel),
    };
    let shape = [kernel, kernel, channels];
    let weight = graph.parameter(&format!("{name}.weight"), &shape, init)?;
    let y = graph.depthwise(&format!("{name}.depthwise"), x, weight, window)?;
    norm_after(graph, name, y, after)
}

fn norm_after(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    after: After,
) -> Result<ValueId, GraphError> {
    let norm = format!("{name}.norm");
    let y = graph.batch_norm(&norm, x, BATCH_NORM_MOMENTUM, NORM_EPS)?;
    match after {
        After::Nothing => Ok(y),
        After::Relu => graph.relu(&format!("{name}.relu"), y),
        After::Relu6 => graph.relu6(&format!("{name}.relu6"), y),
        After::Silu => graph.silu(&format!("{name}.silu"), y),
    }
}

/// Larger pictures are halved by the first layer, as the papers do with pictures of 224 pixels.
pub(super) fn stem_stride(graph: &Graph, x: ValueId) -> usize {
    const LARGE_PIXELS: usize = 64;
    let side = graph[x].shape.get(1).copied().unwrap_or(1);
    if side > LARGE_PIXELS { 2 } else { 1 }
}

/// `channels` to the nearest multiple of 8, but not more than a tenth below: the rule of the MobileNet authors' code.
pub(super) fn round_channels(channels: f32) -> usize {
    let rounded = (((channels + 4.0) / 8.0) as usize * 8).max(8);
    if (rounded as f32) < 0.9 * channels {
        rounded + 8
    } else {
        rounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `_make_divisible` in the authors' code.
    #[test]
    fn channels_are_rounded_as_in_the_paper() {
        for (channels, expected) in [
            (32.0, 32),
            (8.0, 8),
            (1.0, 8),
            (27.0, 32),
            (36.0, 40),
            (44.0, 48),
            (12.0, 16),
            (11.9, 16),
        ] {
            assert_eq!(round_channels(channels), expected, "{channels}");
        }
    }
}
