//! Lowering of the layers that look at pictures.

use super::{Grid, by_four, name};
use crate::engine::kernel::Params;
use crate::graph::{Graph, ImageOp, Node, ValueId, Window, matrix};
use crate::plan::Cut;

pub(super) fn lower(
    graph: &Graph,
    node: &Node,
    op: &ImageOp,
    cut: Cut,
    in_place: bool,
) -> (String, Params, Grid) {
    let shape = |value: ValueId| graph[value].shape.as_slice();
    let output = node.writes.first().map_or(0, |v| graph[*v].elements());
    match op {
        ImageOp::Conv { window, groups } => {
            let (x, y) = (shape(node.reads[0]), shape(node.writes[0]));
            conv(op, cut, [x, y], *window, *groups, cut.rows)
        }
        ImageOp::ConvInputGrad { window, groups } => {
            let (dy, x) = (shape(node.reads[0]), shape(node.writes[0]));
            conv(op, cut, [x, dy], *window, *groups, cut.rows)
        }
        ImageOp::ConvWeightGrad { window, groups } => {
            let (x, dy) = (shape(node.reads[0]), shape(node.reads[1]));
            let splits = shape(node.writes[0]).first().copied().unwrap_or(1);
            let (name, params, grid) = conv(op, cut, [x, dy], *window, *groups, cut.rows);
            (name, params.with("splits", splits), grid)
        }
        ImageOp::Depthwise { window } => {
            let (x, y) = (shape(node.reads[0]), shape(node.writes[0]));
            windowed(op, [x, y], *window, output)
        }
        ImageOp::DepthwiseInputGrad { window } => {
            let (dy, x) = (shape(node.reads[0]), shape(node.writes[0]));
            windowed(op, [x, dy], *window, output)
        }
        ImageOp::DepthwiseWeightGrad { window } => {
            let (x, dy) = (shape(node.reads[0]), shape(node.reads[1]));
            let splits = shape(node.writes[0]).first().copied().unwrap_or(1);
            let (name, params, grid) = windowed(op, [x, dy], *window, output);
            (name, params.with("splits", splits), grid)
        }
        ImageOp::Pool { window, .. } => windowed(
            op,
            [shape(node.reads[0]), shape(node.writes[0])],
            *window,
            output,
        ),
        ImageOp::PoolGrad { window, .. } => windowed(
            op,
            [shape(node.writes[0]), shape(node.reads[0])],
            *window,
            output,
        ),
        _ => normalised(graph, node, op, in_place),
    }
}

/// Sizes of a picture and of what a window makes of it.
fn sizes([x, y]: [&[usize]; 2], window: Window) -> Params {
    let at = |shape: &[usize], axis: usize| shape.get(axis).copied().unwrap_or(1);
    Params::new()
        .with("batch", at(x, 0))
        .with("height", at(x, 1))
        .with("width", at(x, 2))
        .with("channels", at(x, 3))
        .with("out_height", at(y, 1))
        .with("out_width", at(y, 2))
        .with("kernel", window.kernel)
        .with("stride", window.stride)
        .with("padding", window.padding)
}

fn conv(
    op: &ImageOp,
    cut: Cut,
    pictures: [&[usize]; 2],
    window: Window,
    groups: usize,
    rows: usize,
) -> (String, Params, Grid) {
    let [channels, out] = pictures.map(|shape| shape.last().copied().unwrap_or(1));
    let params = sizes(pictures, window)
        .with("out_channels", out)
        .with("groups", groups)
        .with("row0", cut.row0)
        .with("rows", rows);
    let (stem, taps) = (op.name(), window.kernel * window.kernel);
    let to_weight = matches!(op, ImageOp::ConvWeightGrad { .. });
    let to_input = matches!(op, ImageOp::ConvInputGrad { .. });
    // In registers where the sizes are multiples of 4; else directly, which suits the few channels of a first layer.
    if groups == 1 && channels % 4 == 0 && out % 4 == 0 {
        let (wide, deep) = (out.div_ceil(8), channels.div_ceil(8));
        let blocks = match (to_weight, to_input) {
            (true, _) => rows * taps * deep * wide,
            (_, true) => rows.div_ceil(8) * deep,
            _ => rows.div_ceil(8) * wide,
        };
        return (
            format!("{stem}_register"),
            params,
            Grid::Invocations(blocks),
        );
    }
    let four = (out / groups.max(1)).is_multiple_of(4);
    let columns = if four { out / 4 } else { out };
    let invocations = match (to_weight, to_input) {
        (true, _) => rows * taps * (channels / groups.max(1)) * columns,
        (_, true) => rows * channels,
        _ => rows * columns,
    };
    let features: &[&str] = if four { &["vec4"] } else { &[] };
    (
        name(stem, features, false),
        params,
        Grid::Invocations(invocations),
    )
}

fn windowed(
    op: &ImageOp,
    pictures: [&[usize]; 2],
    window: Window,
    output: usize,
) -> (String, Params, Grid) {
    let params = sizes(pictures, window);
    let pools = matches!(op, ImageOp::Pool { .. } | ImageOp::PoolGrad { .. });
    if pools {
        return (op.name().into(), params, Grid::Invocations(output));
    }
    let channels = pictures[0].last().copied().unwrap_or(1);
    let (features, lanes) = by_four(channels);
    let grid = Grid::Invocations(output / lanes);
    (name(op.name(), features, false), params, grid)
}

/// Normalisation, gates and activations.
fn normalised(graph: &Graph, node: &Node, op: &ImageOp, in_place: bool) -> (String, Params, Grid) {
    let input = node.reads[0];
    let (rows, cols) = matrix(&graph[input].shape, false);
    let (samples, pixels, channels) = graph.picture(input);
    let output = node.writes.first().map_or(0, |v| graph[*v].elements());
    let (four, lanes) = by_four(cols);
    let by_vector = Grid::Invocations(output.div_ceil(4));
    let by_column = Grid::Invocations(output / lanes);
    let stem = op.name();
    let matrix_sizes = Params::new().with("rows", rows).with("cols", cols);
    let picture = Params::new()
        .with("batch", samples)
        .with("positions", pixels)
        .with("channels", channels);
    let blocks = |value: ValueId| graph[value].shape.first().copied().unwrap_or(1);
    match op {
        ImageOp::BatchMoments => {
            let params = matrix_sizes
                .with("rows_per_sample", pixels)
                .with("blocks", blocks(node.writes[0]));
            (name(stem, four, false), params, by_column)
        }
        ImageOp::BatchMomentsFinish {
            momentum,
            rows,
            rows_per_sample,
        } => {
            let params = Params::new()
                .with("rows", *rows)
                .with("rows_per_sample", *rows_per_sample)
                .with("cols", cols)
                .with("blocks", blocks(input));
            let (name, params) = match momentum {
                Some(momentum) => (
                    name(stem, &["running"], false),
                    params.with_f32("momentum", *momentum),
                ),
                None => (stem.into(), params),
            };
            (name, params, Grid::Invocations(cols))
        }
        ImageOp::BatchNorm { eps } => {
            let params = matrix_sizes.with_f32("eps", *eps);
            (name(stem, four, in_place), params, by_column)
        }
        ImageOp::BatchNormGradPartials { eps } => {
            let params = matrix_sizes
                .with("blocks", blocks(node.writes[0]))
                .with_f32("eps", *eps);
            (name(stem, four, false), params, by_column)
        }
        ImageOp::BatchNormGrad { eps } => {
            let params = matrix_sizes
                .with("rows_per_sample", pixels)
                .with_f32("eps", *eps);
            (name(stem, four, in_place), params, by_column)
        }
        ImageOp::GlobalPool | ImageOp::ChannelScaleGrad => {
            (stem.into(), picture, Grid::Invocations(output))
        }
        ImageOp::GlobalPoolGrad => {
            let (samples, pixels, channels) = graph.picture(node.writes[0]);
            let params = Params::new()
                .with("batch", samples)
                .with("positions", pixels)
                .with("channels", channels);
            (stem.into(), params, Grid::Invocations(output))
        }
        ImageOp::ChannelScale => (name(stem, four, in_place), picture, by_column),
        _ => {
            let params = Params::new().with("n", output);
            (name(stem, &[], in_place), params, by_vector)
        }
    }
}
