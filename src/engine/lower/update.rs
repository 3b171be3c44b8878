//! Lowering of what happens between two steps: update rules, the scale of the loss, and 8-bit storage.

use super::{Grid, name};
use crate::engine::kernel::Params;
use crate::experiment::LossScale;
use crate::graph::{Adafactor, Graph, NORM_PARTIALS, Node, Op, Rule};

pub(super) fn lower(graph: &Graph, node: &Node) -> (String, Params, Grid) {
    let elements = |index: usize| {
        let value = node.writes.get(index);
        value.map_or(0, |v| graph[*v].elements())
    };
    let (params, by_four) = (Params::new(), |n: usize| Grid::Invocations(n.div_ceil(4)));
    match &node.op {
        Op::Update(Rule::Adafactor(part)) => adafactor(graph, node, *part),
        Op::Update(rule) => {
            let n = elements(0);
            let (name, params, block) = simple(*rule, params.with("n", n));
            let grid = match block {
                Some(block) => Grid::Each(n.div_ceil(block)),
                None => by_four(n),
            };
            (name, params, grid)
        }
        Op::LossScale {
            growth_every,
            beta1,
            beta2,
        } => {
            let params = params
                .with("growth_every", *growth_every)
                .with_f32("beta1", *beta1)
                .with_f32("beta2", *beta2)
                .with_f32("floor", LossScale::FLOOR)
                .with_f32("ceiling", LossScale::CEILING);
            ("loss_scale".into(), params, Grid::Groups(1, 1))
        }
        Op::Quantize { block } => {
            let n = elements(0);
            let params = params.with("n", n).with("block", *block);
            (
                node.op.name().into(),
                params,
                Grid::Each(n.div_ceil(*block)),
            )
        }
        Op::Dequantize { block } => {
            let n = elements(0);
            let params = params.with("n", n).with("block", *block);
            (node.op.name().into(), params, by_four(n))
        }
        other => (other.name().into(), params, Grid::Groups(1, 1)),
    }
}

/// A rule that is one kernel, and the elements of a block where each has a workgroup of its own.
fn simple(rule: Rule, params: Params) -> (String, Params, Option<usize>) {
    let stem = rule.name();
    match rule {
        Rule::Sgd { weight_decay } => {
            let params = params.with_f32("weight_decay", weight_decay);
            (stem.into(), params, None)
        }
        Rule::Momentum {
            momentum,
            nesterov,
            weight_decay,
        } => {
            let features: &[&str] = if nesterov { &["nesterov"] } else { &[] };
            let params = params
                .with_f32("momentum", momentum)
                .with_f32("weight_decay", weight_decay);
            (name(stem, features, false), params, None)
        }
        Rule::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
            decoupled,
            block,
        } => {
            let features: &[&str] = if decoupled { &["decoupled"] } else { &[] };
            let params = match block {
                Some(block) => params.with("block", block),
                None => params,
            };
            let params = params
                .with_f32("beta1", beta1)
                .with_f32("beta2", beta2)
                .with_f32("eps", eps)
                .with_f32("weight_decay", weight_decay);
            (name(stem, features, false), params, block)
        }
        Rule::Lion {
            beta1,
            beta2,
            weight_decay,
        } => {
            let params = params
                .with_f32("beta1", beta1)
                .with_f32("beta2", beta2)
                .with_f32("weight_decay", weight_decay);
            (stem.into(), params, None)
        }
        Rule::Adafactor(_) => (stem.into(), params, None),
    }
}

fn adafactor(graph: &Graph, node: &Node, part: Adafactor) -> (String, Params, Grid) {
    // What the sizes are those of: the gradient, which all parts read but the mean, whose row factors have them.
    let shape = |index: usize| {
        let value = node.reads.get(index);
        value.map_or(&[][..], |v| graph[*v].shape.as_slice())
    };
    let [batch, rows, cols] = match shape(1) {
        [batch @ .., rows, cols] => [batch.iter().product(), *rows, *cols],
        [n] => [1, 1, *n],
        [] => [0, 0, 0],
    };
    let n = batch * rows * cols;
    let stem = Rule::Adafactor(part).name();
    let form = |factored: bool| if factored { "factored" } else { "full" };
    let sizes = Params::new().with("rows", rows).with("cols", cols);
    match part {
        Adafactor::Factors => {
            let params = sizes.with("batch", batch);
            (stem.into(), params, Grid::Invocations(batch * (rows + cols)))
        }
        Adafactor::Mean => {
            let batch = node.writes.first().map_or(1, |v| graph[*v].elements());
            let rows = shape(0).iter().product::<usize>() / batch.max(1);
            let params = Params::new().with("batch", batch).with("rows", rows);
            (stem.into(), params, Grid::Each(batch))
        }
        Adafactor::Second => {
            let params = Params::new().with("n", n);
            (stem.into(), params, Grid::Invocations(n.div_ceil(4)))
        }
        Adafactor::Partials { factored } => {
            let params = sizes.with("n", n);
            let grid = Grid::Groups(NORM_PARTIALS, 1);
            (name(stem, &[form(factored)], false), params, grid)
        }
        Adafactor::Apply {
            factored,
            threshold,
            weight_decay,
            relative,
            warmup_init,
        } => {
            let params = sizes
                .with("n", n)
                .with_f32("threshold", threshold)
                .with_f32("weight_decay", weight_decay)
                .with("relative", usize::from(relative))
                .with("warmup_init", usize::from(warmup_init));
            let grid = Grid::Invocations(n.div_ceil(4));
            (name(stem, &[form(factored)], false), params, grid)
        }
    }
}
