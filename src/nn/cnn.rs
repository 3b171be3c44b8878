//! A convolutional network: stem, stages of blocks of two 3x3 convolutions, mean over the pixels, linear head.
//!
//! `residual` networks add a block's input to its output (He et al. 2015, arXiv:1512.03385); plain ones stack the same
//! convolutions and pool between stages (Simonyan and Zisserman 2014, arXiv:1409.1556).

use super::layers::{After, conv_norm, head, stem_stride};
use crate::experiment::{Cnn, PoolKind};
use crate::graph::{Graph, GraphError, Pool, ValueId, Window};

pub(super) fn forward(
    graph: &mut Graph,
    cnn: &Cnn,
    pictures: ValueId,
    classes: usize,
) -> Result<ValueId, GraphError> {
    let stride = stem_stride(graph, pictures);
    let kernel = if stride == 1 { 3 } else { 7 };
    let stem = Window::same(kernel, stride);
    let mut x = conv_norm(graph, "stem", pictures, cnn.width, stem, After::Relu)?;
    if stride > 1 {
        let window = Window::same(3, 2);
        x = graph.pool("stem.pool", x, Pool::Max, window)?;
    }
    for stage in 0..cnn.stages {
        let width = cnn.width << stage;
        for index in 0..cnn.blocks() {
            let name = format!("stage{stage}.block{index}");
            let halves = stage > 0 && index == 0;
            x = match cnn.pool {
                None => residual(graph, &name, x, width, if halves { 2 } else { 1 })?,
                Some(pool) => plain(graph, &name, x, width, halves.then_some(pool))?,
            };
        }
    }
    let x = graph.global_pool("pool", x)?;
    head(graph, x, classes)
}

fn residual(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    width: usize,
    stride: usize,
) -> Result<ValueId, GraphError> {
    let (_, _, channels) = graph.picture(x);
    let first = Window::same(3, stride);
    let y = conv_norm(
        graph,
        &format!("{name}.conv0"),
        x,
        width,
        first,
        After::Relu,
    )?;
    let second = Window::same(3, 1);
    let y = conv_norm(
        graph,
        &format!("{name}.conv1"),
        y,
        width,
        second,
        After::Nothing,
    )?;
    let shortcut = if stride == 1 && channels == width {
        x
    } else {
        let window = Window::same(1, stride);
        conv_norm(
            graph,
            &format!("{name}.shortcut"),
            x,
            width,
            window,
            After::Nothing,
        )?
    };
    let sum = graph.add(&format!("{name}.add"), y, shortcut)?;
    graph.relu(&format!("{name}.relu"), sum)
}

fn plain(
    graph: &mut Graph,
    name: &str,
    x: ValueId,
    width: usize,
    pool: Option<PoolKind>,
) -> Result<ValueId, GraphError> {
    let mut x = x;
    if let Some(pool) = pool {
        let pool = match pool {
            PoolKind::Max => Pool::Max,
            PoolKind::Average => Pool::Average,
        };
        x = graph.pool(&format!("{name}.pool"), x, pool, Window::tiles(2))?;
    }
    for layer in 0..2 {
        let window = Window::same(3, 1);
        x = conv_norm(
            graph,
            &format!("{name}.conv{layer}"),
            x,
            width,
            window,
            After::Relu,
        )?;
    }
    Ok(x)
}
