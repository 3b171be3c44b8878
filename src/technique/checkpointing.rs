//! Gradient checkpointing: results of the forward pass that are not kept are computed a second time, just before the
//! backward pass needs them.

use super::Technique;
use crate::experiment::{Checkpoint, Recompute};
use crate::graph::{Graph, GraphError, ImageOp, Node, Op, Phase, Program, TextOp, ValueId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the reader is told.
pub const ABOUT: Technique = Technique {
    name: "gradient checkpointing",
    explanation: "The backward pass reads what the forward pass computed. Most of it can be thrown away if the input of \
        a block is kept: the block is then computed a second time when the backward pass arrives at it (Chen et al. \
        2016, arXiv:1604.06174). Dropout draws the same mask again and running statistics move once, so the gradients \
        are the same to the last bit. Computing only cheap results again - activation functions, norms, dropout - costs \
        almost no time and still saves a good part.",
    promise: "Activations shrink to one input per block and the inside of one block. The price is at most one more \
        forward pass of the blocks, about a third of a step; the plan states it in multiply-adds.",
};

/// Which blocks of the forward pass are computed again, in segments: each runs from a block up to, and without, another.
/// What a segment hands to later ones is kept; the blocks in no segment keep everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The segments, in order and without overlap.
    pub segments: Vec<Range<usize>>,
}

impl Placement {
    /// Segments of `every` blocks, of which the last one, whose backward pass follows at once, is kept.
    pub fn every(blocks: usize, every: usize) -> Self {
        let every = every.max(1);
        let starts = (0..blocks).step_by(every);
        let segments = starts.map(|start| start..(start + every).min(blocks));
        Self {
            segments: segments.filter(|segment| segment.end < blocks).collect(),
        }
    }
}

/// What a rewrite costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recomputed {
    /// Nodes that run a second time in a micro-batch.
    pub nodes: usize,
    /// Their multiply-adds.
    pub multiply_adds: u64,
}

/// Number of blocks of the forward pass.
pub fn n_blocks(graph: &Graph) -> usize {
    let forward = graph
        .program(Program::Accumulate)
        .filter(|(_, n)| n.phase == Phase::Forward);
    forward.map(|(_, n)| n.block + 1).max().unwrap_or(0)
}

/// The placement that a setting stands for. A budget has to be searched: see [`super::placement`].
pub fn fixed(graph: &Graph, checkpoint: Checkpoint) -> Placement {
    let blocks = n_blocks(graph);
    match checkpoint {
        Checkpoint::Off | Checkpoint::Budget(_) => Placement::default(),
        Checkpoint::Every(every) => Placement::every(blocks, every),
        Checkpoint::Sqrt => Placement::every(blocks, blocks.isqrt()),
    }
}

/// Rewrites the backward pass of `accumulate` so that it computes again what `placement` and `recompute` do not keep.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub fn rewrite(
    graph: &mut Graph,
    placement: &Placement,
    recompute: Recompute,
) -> Result<(), GraphError> {
    let forward = Forward::of(graph);
    let mut dropped = forward.inside(placement);
    if recompute == Recompute::Cheap {
        dropped.extend(forward.cheap(graph, &dropped));
    }
    if dropped.is_empty() {
        return Ok(());
    }
    let mut again = Again {
        producers: forward.producers,
        dropped,
        copies: BTreeMap::new(),
    };
    let nodes = std::mem::take(&mut graph.nodes);
    let (phase, program) = (Phase::Backward, Program::Accumulate);
    graph.enter(program, phase);
    for mut node in nodes {
        if node.phase == phase && node.program == program {
            for read in &mut node.reads {
                *read = again.value(graph, *read)?;
            }
        }
        graph.nodes.push(node);
    }
    Ok(())
}

/// What the rewritten graph computes a second time.
pub fn recomputed(graph: &Graph) -> Recomputed {
    let nodes = graph.nodes.iter().filter(|n| n.recompute);
    nodes.fold(Recomputed::default(), |sum, node| Recomputed {
        nodes: sum.nodes + usize::from(node.op != Op::Reshape),
        multiply_adds: sum.multiply_adds + graph.multiply_adds(node),
    })
}

/// The forward pass as it stands in front of the backward pass.
pub(super) struct Forward {
    /// The node that makes each transient value.
    pub(super) producers: BTreeMap<ValueId, Node>,
    /// The last block whose forward nodes read each transient value, under whatever shape.
    last_reader: BTreeMap<ValueId, usize>,
    /// Transient values that the backward pass reads; of a reshape the value whose bytes they are.
    pub(super) activations: BTreeSet<ValueId>,
}

impl Forward {
    pub(super) fn of(graph: &Graph) -> Self {
        let mut forward = Self {
            producers: BTreeMap::new(),
            last_reader: BTreeMap::new(),
            activations: BTreeSet::new(),
        };
        for (_, node) in graph.program(Program::Accumulate) {
            let roots: Vec<ValueId> = node.reads.iter().map(|v| forward.root(*v)).collect();
            if node.phase == Phase::Forward {
                for value in node.writes.iter().filter(|v| !graph[**v].persistent) {
                    forward.producers.insert(*value, node.clone());
                }
                forward
                    .last_reader
                    .extend(roots.into_iter().map(|root| (root, node.block)));
            } else {
                let made = roots
                    .into_iter()
                    .filter(|v| forward.producers.contains_key(v));
                forward.activations.extend(made.collect::<Vec<_>>());
            }
        }
        forward
    }

    /// The value whose bytes a reshape shows under another shape.
    pub(super) fn root(&self, value: ValueId) -> ValueId {
        match self.producers.get(&value) {
            Some(node) if node.op == Op::Reshape => self.root(node.reads[0]),
            _ => value,
        }
    }

    /// The values that the segments make for themselves alone.
    pub(super) fn inside(&self, placement: &Placement) -> BTreeSet<ValueId> {
        let segment_of = |block: usize| {
            let mut segments = placement.segments.iter();
            segments.find(|segment| segment.contains(&block))
        };
        let dropped = self.producers.iter().filter(|(value, node)| {
            let Some(segment) = segment_of(node.block) else {
                return false;
            };
            !self.is_handed_on(**value, segment)
        });
        dropped.map(|(value, _)| *value).collect()
    }

    /// Whether a later block than those of the segment reads the value, or a reshape of it.
    pub(super) fn is_handed_on(&self, value: ValueId, segment: &Range<usize>) -> bool {
        let last = self.last_reader.get(&self.root(value));
        last.is_some_and(|block| *block >= segment.end)
    }

    /// Activations that a cheap operation makes of values that are there anyway. What is dropped is not there for the
    /// next one, or a chain of them would lead back to the start of the network.
    fn cheap(&self, graph: &Graph, already: &BTreeSet<ValueId>) -> BTreeSet<ValueId> {
        let mut dropped = BTreeSet::new();
        // Values are numbered in the order in which they are made.
        for (value, node) in &self.producers {
            let is_candidate = self.activations.contains(value) && !already.contains(value);
            let inputs = || {
                node.reads
                    .iter()
                    .all(|v| self.is_there(graph, *v, &dropped))
            };
            if is_candidate && is_cheap(&node.op) && inputs() {
                dropped.insert(*value);
            }
        }
        // What is made on the way to them was not kept either.
        let mut made: Vec<ValueId> = dropped.iter().copied().collect();
        while let Some(value) = made.pop() {
            let reads = self.producers.get(&value).map(|n| n.reads.as_slice());
            for read in reads.unwrap_or_default().iter().map(|v| self.root(*v)) {
                let passed =
                    self.producers.contains_key(&read) && !self.activations.contains(&read);
                if passed && dropped.insert(read) {
                    made.push(read);
                }
            }
        }
        dropped
    }

    /// Whether the backward pass has the value, or can make it cheaply of what it has.
    fn is_there(&self, graph: &Graph, value: ValueId, dropped: &BTreeSet<ValueId>) -> bool {
        let value = self.root(value);
        let Some(node) = self.producers.get(&value) else {
            return graph[value].persistent;
        };
        if self.activations.contains(&value) {
            return !dropped.contains(&value);
        }
        let inputs = || node.reads.iter().all(|v| self.is_there(graph, *v, dropped));
        is_cheap(&node.op) && inputs()
    }
}

/// Operations that cost little beside a product of matrices: one pass over their elements.
fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Bias | Op::Relu | Op::Gelu { .. } | Op::Dropout { .. } | Op::Add | Op::Scale { .. } => {
            true
        }
        Op::Image(op) => matches!(
            op,
            ImageOp::BatchNorm { .. }
                | ImageOp::ChannelScale
                | ImageOp::Relu6
                | ImageOp::Silu
                | ImageOp::Sigmoid
        ),
        Op::Text(op) => matches!(
            op,
            TextOp::Norm { .. } | TextOp::Rotary { .. } | TextOp::Swiglu
        ),
        _ => false,
    }
}

/// The copies of what is computed a second time, made when they are first asked for.
struct Again {
    producers: BTreeMap<ValueId, Node>,
    dropped: BTreeSet<ValueId>,
    copies: BTreeMap<ValueId, ValueId>,
}

impl Again {
    /// The value to read in the place of `value`: itself if it was kept, else its copy, whose nodes are added first.
    fn value(&mut self, graph: &mut Graph, value: ValueId) -> Result<ValueId, GraphError> {
        if let Some(copy) = self.copies.get(&value) {
            return Ok(*copy);
        }
        let Some(mut node) = self.producers.get(&value).cloned() else {
            return Ok(value);
        };
        // A reshape of a dropped value has to be one of its copy.
        let input_dropped = node.op == Op::Reshape && {
            let input = node.reads[0];
            self.value(graph, input)? != input
        };
        if !self.dropped.contains(&value) && !input_dropped {
            return Ok(value);
        }
        for read in &mut node.reads {
            *read = self.value(graph, *read)?;
        }
        // Running statistics have moved in the forward pass and must not move again.
        if let Op::Image(ImageOp::BatchMomentsFinish { momentum, .. }) = &mut node.op {
            *momentum = None;
            node.writes.retain(|v| !graph[*v].persistent);
        }
        for write in &mut node.writes {
            let original = graph[*write].clone();
            let name = format!("{}.again", original.name);
            let copy = graph.transient(&name, &original.shape, original.dtype)?;
            self.copies.insert(*write, copy);
            *write = copy;
        }
        let copy = self.copies.get(&value).copied().unwrap_or(value);
        let name = format!("{}.again", node.name);
        graph.push(&name, node.op, &node.reads, &node.writes);
        if let Some(last) = graph.nodes.last_mut() {
            (last.recompute, last.block) = (true, node.block);
        }
        Ok(copy)
    }
}
