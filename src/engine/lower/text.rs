//! Lowering of the layers of language models.

use super::{
    Binding, Grid, Lowered, Product, Tier, accumulate_mode, by_four, matmul, name, row_tier,
};
use crate::engine::kernel::Params;
use crate::graph::{Accumulate, Graph, Heads, Node, RowNorm, TextOp, ValueId, matrix};
use crate::plan::Cut;

pub(super) fn lower(
    graph: &Graph,
    node: &Node,
    op: &TextOp,
    cut: Cut,
    tier: Tier,
    in_place: bool,
) -> Lowered {
    let size = |value: ValueId| matrix(&graph[value].shape, false);
    let elements = |value: ValueId| graph[value].elements();
    let output = node.writes.first().map_or(0, |v| elements(*v));
    let (rows, cols) = size(node.reads[0]);
    let sizes = Params::new().with("rows", rows).with("cols", cols);
    let stem = op.name();
    match op {
        TextOp::Embedding => {
            let (tokens, table, y) = (node.reads[0], node.reads[1], node.writes[0]);
            let (vocabulary, cols) = size(table);
            let params = Params::new()
                .with("rows", elements(tokens))
                .with("vocabulary", vocabulary)
                .with("cols", cols);
            let (features, lanes) = by_four(cols);
            // The rows sorted by token are for the gradient alone.
            let bindings = Some([tokens, table, y].map(Binding::from).to_vec());
            Lowered {
                name: name(stem, features, false),
                params,
                grid: Grid::Invocations(output / lanes),
                bindings,
            }
        }
        TextOp::EmbeddingGrad { accumulate } => {
            let (vocabulary, _) = size(node.writes[0]);
            let params = sizes
                .with("vocabulary", vocabulary)
                .with("accumulate", accumulate_mode(*accumulate));
            let (features, lanes) = by_four(cols);
            let grid = Grid::Invocations(output / lanes);
            (name(stem, features, false), params, grid).into()
        }
        TextOp::Norm { norm, eps } => {
            let (how, grid) = row_tier(tier, rows);
            let name = name(stem, &norm_features(*norm, how, cols), false);
            (name, sizes.with_f32("eps", *eps), grid).into()
        }
        TextOp::NormGrad { norm } => {
            let (how, grid) = row_tier(tier, rows);
            let features = norm_features(*norm, how, cols);
            (name(stem, &features, in_place), sizes, grid).into()
        }
        TextOp::NormGradPartials { norm } => {
            let params = sizes.with("blocks", size(node.writes[0]).0);
            let mut features = match norm {
                RowNorm::Layer => Vec::new(),
                RowNorm::Rms => vec!["rms"],
            };
            let (four, lanes) = by_four(cols);
            features.extend(four);
            let grid = Grid::Invocations(output / lanes);
            (name(stem, &features, false), params, grid).into()
        }
        TextOp::PickRow => (stem.into(), sizes, Grid::Invocations(cols)).into(),
        TextOp::Swiglu => {
            let params = Params::new().with("rows", rows).with("cols", cols / 2);
            let (features, lanes) = by_four(cols / 2);
            let grid = Grid::Invocations(output / lanes);
            (name(stem, features, false), params, grid).into()
        }
        TextOp::SwigluGrad => {
            let (features, lanes) = by_four(cols);
            let grid = Grid::Invocations(rows * cols / lanes);
            (name(stem, features, false), sizes, grid).into()
        }
        TextOp::LinearCrossEntropy { transposed } => {
            linear_loss(graph, node, cut, tier, (*transposed, None))
        }
        TextOp::LinearCrossEntropyGrad {
            transposed,
            accumulate,
        } => linear_loss(graph, node, cut, tier, (*transposed, Some(*accumulate))),
        _ => attention(graph, node, op, tier, in_place).into(),
    }
}

fn norm_features(norm: RowNorm, how: &'static str, cols: usize) -> Vec<&'static str> {
    let mut features = match norm {
        RowNorm::Layer => vec![how],
        RowNorm::Rms => vec!["rms", how],
    };
    if how == "row" {
        features.extend(by_four(cols).0);
    }
    features
}

/// Attention in both forms, and rotary positions.
fn attention(
    graph: &Graph,
    node: &Node,
    op: &TextOp,
    tier: Tier,
    in_place: bool,
) -> (String, Params, Grid) {
    let elements = |value: ValueId| graph[value].elements();
    let output = node.writes.first().map_or(0, |v| elements(*v));
    let stem = op.name();
    match op {
        TextOp::CausalSoftmax { context } | TextOp::CausalSoftmaxGrad { context } => {
            let rows = output / (*context).max(1);
            let (how, grid) = row_tier(tier, rows);
            let params = Params::new().with("rows", rows).with("context", *context);
            (name(stem, &[how], in_place), params, grid)
        }
        TextOp::Rotary { heads, inverse } => {
            let (rows, cols) = matrix(&graph[node.reads[0]].shape, false);
            let params = Params::new()
                .with("rows", rows)
                .with("context", heads.context)
                .with("heads", heads.heads)
                .with("head_dim", cols / 3 / heads.heads.max(1))
                .with("inverse", usize::from(*inverse));
            let grid = Grid::Invocations(rows * cols / 6);
            (name(stem, &[], in_place), params, grid)
        }
        // Which of the values read has the queries, keys and values.
        TextOp::AttentionScores(heads)
        | TextOp::AttentionFused(heads)
        | TextOp::AttentionFusedQueryGrad(heads)
        | TextOp::AttentionFusedKeyValueGrad(heads) => by_head(graph, node, op, *heads, 0),
        TextOp::AttentionMix(heads) | TextOp::AttentionMixGrad(heads) => {
            by_head(graph, node, op, *heads, 1)
        }
        TextOp::AttentionQkvGrad(heads) => by_head(graph, node, op, *heads, 2),
        TextOp::AttentionDelta(heads) => by_head(graph, node, op, *heads, 0),
        other => (
            other.name().into(),
            Params::new(),
            Grid::Invocations(output),
        ),
    }
}

/// The kernels of attention that work head by head. `source` is the value read that tells how wide a head is.
fn by_head(
    graph: &Graph,
    node: &Node,
    op: &TextOp,
    heads: Heads,
    source: usize,
) -> (String, Params, Grid) {
    let (rows, cols) = matrix(&graph[node.reads[source]].shape, false);
    // All but delta read queries, keys and values side by side.
    let thirds = if matches!(op, TextOp::AttentionDelta(_)) {
        1
    } else {
        3
    };
    let (context, head_dim) = (heads.context, cols / thirds / heads.heads.max(1));
    let batch = rows / context.max(1);
    let params = Params::new()
        .with("batch", batch)
        .with("context", context)
        .with("heads", heads.heads)
        .with("head_dim", head_dim);
    let plain_form = matches!(
        op,
        TextOp::AttentionScores(_)
            | TextOp::AttentionMix(_)
            | TextOp::AttentionMixGrad(_)
            | TextOp::AttentionQkvGrad(_)
    );
    // The plain form keeps rows of scores, which have to be read four at a time too.
    let four = head_dim.is_multiple_of(4) && (!plain_form || context.is_multiple_of(4));
    let (all, tile) = (batch * heads.heads, if four { 8 } else { 1 });
    let (places, columns) = (context.div_ceil(tile), head_dim.div_ceil(tile));
    let invocations = match op {
        TextOp::AttentionScores(_) | TextOp::AttentionMixGrad(_) => all * places * places,
        TextOp::AttentionMix(_) => all * places * columns,
        TextOp::AttentionQkvGrad(_) => 3 * all * places * columns,
        TextOp::AttentionDelta(_) => all * context,
        _ => all * places,
    };
    let features: &[&str] = if four { &["vec4"] } else { &[] };
    (
        name(op.name(), features, false),
        params,
        Grid::Invocations(invocations),
    )
}

/// One launch of a linear layer with its loss; see [`crate::plan::cuts`] for the parts.
fn linear_loss(
    graph: &Graph,
    node: &Node,
    cut: Cut,
    tier: Tier,
    (transposed, gradient): (bool, Option<Accumulate>),
) -> Lowered {
    let (x, weight, labels) = (node.reads[0], node.reads[1], node.reads[2]);
    let (_, width) = matrix(&graph[x].shape, false);
    let (_, classes) = matrix(&graph[weight].shape, transposed);
    // Forward writes the losses, their log-sum-exp and the piece of logits; backward dx, the piece and the weights' gradient.
    let logits = Binding::from(node.writes[if gradient.is_some() { 1 } else { 2 }]);
    let from_row = |value: ValueId, cols: usize| Binding {
        value,
        offset_bytes: 4 * (cut.chunk0 * cols) as u64,
    };
    let (rows_of_x, row_labels) = (from_row(x, width), from_row(labels, 1));
    let range = (cut.row0, cut.rows);
    let product = |sizes, trans_a, trans_b, accumulate| {
        let product = Product {
            sizes,
            trans_a,
            trans_b,
            accumulate,
        };
        matmul(product, range, tier)
    };
    let once = Accumulate::Overwrite;
    let losses = Params::new()
        .with("rows", cut.chunk)
        .with("classes", classes);
    let ((name, params, grid), bindings) = match (cut.part, gradient) {
        (0, _) => {
            let sizes = [cut.chunk, classes, width];
            let launch = product(sizes, false, transposed, once);
            (launch, vec![rows_of_x, weight.into(), logits])
        }
        (1, None) => {
            let (how, grid) = row_tier(tier, cut.chunk);
            let launch = (name("cross_entropy", &[how], false), losses, grid);
            let (loss, lse) = (from_row(node.writes[0], 1), from_row(node.writes[1], 1));
            (launch, vec![logits, row_labels, loss, lse])
        }
        (1, Some(_)) => {
            let grid = Grid::Invocations((cut.chunk * classes).div_ceil(4));
            let launch = (name("cross_entropy_grad", &[], true), losses, grid);
            let lse = from_row(node.reads[3], 1);
            (launch, vec![row_labels, lse, logits])
        }
        (2, _) => {
            let sizes = [cut.chunk, width, classes];
            let launch = product(sizes, false, !transposed, once);
            let dx = from_row(node.writes[0], width);
            (launch, vec![logits, weight.into(), dx])
        }
        (_, mode) => {
            // The first piece begins the gradient as the node says, the others add to it.
            let mode = mode.filter(|_| cut.chunk0 == 0);
            let mode = mode.unwrap_or(Accumulate::Always);
            let d_weight = Binding::from(node.writes[2]);
            if transposed {
                let launch = product([classes, width, cut.chunk], true, false, mode);
                (launch, vec![logits, rows_of_x, d_weight])
            } else {
                let launch = product([width, classes, cut.chunk], true, false, mode);
                (launch, vec![rows_of_x, logits, d_weight])
            }
        }
    };
    Lowered {
        name,
        params,
        grid,
        bindings: Some(bindings),
    }
}
