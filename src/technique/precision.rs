//! Half precision: values of the step are stored in 16 bits and computed with in F32.

use super::Technique;
use crate::dtype::DType;
use crate::experiment::Precision;
use crate::graph::{Class, Graph, ImageOp, Node, Op, Phase, TextOp, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "half precision",
    explanation: "Activations and the gradients that flow through them are stored in 16 bits, two to a word, so it works \
        on every device; kernels read them, compute and add up in F32, and round once when they write. Products read \
        a 16-bit copy of the weights, while the optimizer changes F32 master weights, where a small update is not \
        rounded away (Micikevicius et al. 2017, arXiv:1710.03740). Norms, softmax and losses work in F32 inside their \
        kernels and their statistics stay F32, as do the gradients of the weights.",
    promise: "Activations and the workspace beside them halve. Weights grow by the 16-bit copy: 18 bytes for each under \
        Adam instead of 16, so a network whose weights dominate gains nothing.",
};

/// Stores in the format of `precision` what products, layers and their gradients write, in every program, and gives the
/// products a copy of their weights in it.
pub fn rewrite(graph: &mut Graph, precision: Precision) {
    let half = match precision {
        Precision::F32 => return,
        Precision::F16 => DType::F16,
        Precision::Bf16 => DType::Bf16,
    };
    let full = kept_in_f32(graph);
    for index in 0..graph.nodes.len() {
        let node = &graph.nodes[index];
        let mut halves = half_outputs(graph, node);
        halves.retain(|v| !full.contains(v));
        for value in halves {
            graph.values[value.0].dtype = half;
        }
    }
    half_weights(graph, half);
}

/// Values that a rule keeps in F32 whatever node writes them.
fn kept_in_f32(graph: &Graph) -> BTreeSet<ValueId> {
    let mut all = BTreeSet::new();
    for node in &graph.nodes {
        if let Op::Text(
            TextOp::AttentionFused(heads)
            | TextOp::AttentionFusedQueryGrad(heads)
            | TextOp::AttentionFusedKeyValueGrad(heads),
        ) = node.op
        {
            // The kernels for such heads add up in their output, which must not be rounded at every step.
            let width = graph[node.reads[0]].shape.last().map_or(0, |cols| cols / 3);
            if !(width / heads.heads.max(1)).is_multiple_of(4) {
                all.extend(node.writes.first());
            }
        }
        if let Op::Text(TextOp::LinearCrossEntropy { .. } | TextOp::LinearCrossEntropyGrad { .. }) =
            node.op
        {
            // Pieces of 64 rows are bound from their first byte on, which has to be a multiple of 256.
            let x = node.reads[0];
            let odd = graph[x].shape.last().is_some_and(|width| width % 2 == 1);
            if odd {
                all.insert(x);
                all.extend(node.writes.first());
            }
        }
    }
    all
}

/// The outputs of a node that may be stored in half precision: results of layers and gradients by them. Statistics,
/// partial sums, losses and gradients of parameters are not.
fn half_outputs(graph: &Graph, node: &Node) -> Vec<ValueId> {
    let first = match &node.op {
        Op::Matmul { .. }
        | Op::Bias
        | Op::Relu
        | Op::ReluGrad
        | Op::Gelu { .. }
        | Op::GeluGrad { .. }
        | Op::Dropout { .. }
        | Op::Add
        | Op::Scale { .. }
        | Op::ScaleBy
        | Op::CrossEntropyGrad => 1,
        // The same bytes as its input.
        Op::Reshape => {
            let input = graph[node.reads[0]].dtype;
            usize::from(input != DType::F32)
        }
        Op::Image(op) => usize::from(!matches!(
            op,
            ImageOp::ConvWeightGrad { .. }
                | ImageOp::DepthwiseWeightGrad { .. }
                | ImageOp::BatchMoments
                | ImageOp::BatchMomentsFinish { .. }
                | ImageOp::BatchNormGradPartials { .. }
        )),
        Op::Text(op) => match op {
            TextOp::EmbeddingGrad { .. }
            | TextOp::NormGradPartials { .. }
            | TextOp::AttentionDelta(_) => 0,
            TextOp::LinearCrossEntropy { .. } => {
                return node.writes.get(2).copied().into_iter().collect();
            }
            TextOp::LinearCrossEntropyGrad { .. } => 2,
            _ => 1,
        },
        _ => 0,
    };
    let outputs = node.writes.iter().take(first).copied();
    outputs.filter(|v| !graph[*v].persistent).collect()
}

/// Gives the parameters that products and tables are read from a half-precision copy, which is made anew behind every
/// update, and makes what was their storage the master weights.
fn half_weights(graph: &mut Graph, half: DType) {
    let mut copies: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for index in 0..graph.parameters.len() {
        let parameter = graph.parameters[index];
        let mut readers = graph
            .nodes
            .iter()
            .filter(|n| n.reads.contains(&parameter.value));
        if !readers.any(|node| reads_half(&node.op)) {
            continue;
        }
        let master = graph[parameter.value].clone();
        let name = format!("{}.{}", master.name, half.name());
        let copy = graph.persistent(&name, &master.shape, half, Class::Weights);
        graph.values[parameter.value.0].class = Class::MasterWeights;
        graph.parameters[index].half = Some(copy);
        copies.insert(parameter.value, copy);
    }
    let nodes = std::mem::take(&mut graph.nodes);
    for mut node in nodes {
        if reads_half(&node.op) {
            for read in &mut node.reads {
                *read = copies.get(read).copied().unwrap_or(*read);
            }
        }
        let changed = node.writes.iter().find_map(|v| Some((*v, *copies.get(v)?)));
        let updates = node.phase == Phase::Update;
        let (program, phase, block) = (node.program, node.phase, node.block);
        graph.nodes.push(node);
        if let (true, Some((master, copy))) = (updates, changed) {
            graph.enter(program, phase);
            let op = Op::Cast {
                from: DType::F32,
                to: half,
            };
            let name = format!("{}.cast", graph[copy].name);
            graph.push(&name, op, &[master], &[copy]);
            if let Some(last) = graph.nodes.last_mut() {
                last.block = block;
            }
        }
    }
}

/// Operations that read their weights in half precision.
fn reads_half(op: &Op) -> bool {
    match op {
        Op::Matmul { .. } => true,
        Op::Image(op) => matches!(
            op,
            ImageOp::Conv { .. }
                | ImageOp::ConvInputGrad { .. }
                | ImageOp::Depthwise { .. }
                | ImageOp::DepthwiseInputGrad { .. }
        ),
        Op::Text(op) => matches!(
            op,
            TextOp::Embedding
                | TextOp::LinearCrossEntropy { .. }
                | TextOp::LinearCrossEntropyGrad { .. }
        ),
        _ => false,
    }
}
