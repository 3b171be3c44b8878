//! From which node to which node of a program each transient value is alive.

use crate::graph::{Class, Graph, Node, Op, Phase, Program, ValueId};
use std::collections::BTreeMap;

/// First and last node of a program, by place in its order, that use a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The node that makes it.
    pub first: usize,
    /// The last one that uses it.
    pub last: usize,
}

/// For each value the one that owns its bytes: itself, or what it is a reshape of.
pub(super) fn aliases(graph: &Graph) -> Vec<ValueId> {
    let mut roots: Vec<ValueId> = (0..graph.values.len()).map(ValueId).collect();
    // Nodes are in order, so the input of a reshape has its root before the output asks for it.
    for node in graph.nodes.iter().filter(|n| n.op == Op::Reshape) {
        roots[node.writes[0].0] = roots[node.reads[0].0];
    }
    roots
}

/// Decides the class of every transient value: activations are made in forward and read in backward, all else is
/// workspace.
pub(super) fn classify(graph: &mut Graph, roots: &[ValueId]) {
    let mut made_in_forward = vec![false; roots.len()];
    let mut read_in_backward = vec![false; roots.len()];
    for node in &graph.nodes {
        for value in node.writes.iter().filter(|_| node.phase == Phase::Forward) {
            made_in_forward[roots[value.0].0] = true;
        }
        for value in node
            .reads
            .iter()
            .filter(|_| node.phase == Phase::Backward && node.op != Op::Reshape)
        {
            read_in_backward[roots[value.0].0] = true;
        }
    }
    for (index, root) in roots.iter().map(|root| root.0).enumerate() {
        if !graph.values[index].persistent && !graph.values[root].persistent {
            let kept = made_in_forward[root] && read_in_backward[root];
            graph.values[index].class = if kept {
                Class::Activations
            } else {
                Class::Workspace
            };
        }
    }
}

/// Lifetimes of the transient values that own bytes, in one program.
pub fn lifetimes(graph: &Graph, program: Program) -> BTreeMap<ValueId, Lifetime> {
    let nodes: Vec<&Node> = graph.program(program).map(|(_, n)| n).collect();
    lifetimes_of(graph, &aliases(graph), &nodes)
}

pub(super) fn lifetimes_of(
    graph: &Graph,
    roots: &[ValueId],
    nodes: &[&Node],
) -> BTreeMap<ValueId, Lifetime> {
    let mut all = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for value in node.reads.iter().chain(&node.writes) {
            let root = roots[value.0];
            if !graph[root].persistent {
                all.entry(root)
                    .or_insert(Lifetime {
                        first: index,
                        last: index,
                    })
                    .last = index;
            }
        }
    }
    all
}
