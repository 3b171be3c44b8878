//! Places transient values in reusable slots: best fit among the free ones, in place where an operation allows it.
//!
//! One slot is one buffer, because a dispatch may not read and write the same buffer (an error in wgpu and in browsers
//! even for ranges that do not overlap), which rules out one big arena.

use super::lifetime::lifetimes_of;
use super::{Place, PlannedNode, PlannedProgram, cuts};
use crate::graph::{Graph, Node, NodeId, Op, Program, ValueId};
use crate::units::round_to_buffer;

/// Slots and places while programs are being placed one after another.
pub(super) struct Slots {
    places: Vec<Place>,
    roots: Vec<ValueId>,
    bytes: Vec<u64>,
    free: Vec<usize>,
}

impl Slots {
    pub(super) fn new(graph: &Graph, roots: &[ValueId]) -> Self {
        let places = roots
            .iter()
            .enumerate()
            .map(
                |(index, root)| match (*root == ValueId(index), graph.values[index].persistent) {
                    (false, _) => Place::Alias(*root),
                    (true, true) => Place::Own,
                    (true, false) => Place::Unused,
                },
            )
            .collect();
        Self {
            places,
            roots: roots.to_vec(),
            bytes: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Places the transient values of one program. All slots are free before and after.
    pub(super) fn place(&mut self, graph: &Graph, program: Program) -> PlannedProgram {
        let ids: Vec<NodeId> = graph.program(program).map(|(id, _)| id).collect();
        let nodes: Vec<&Node> = ids.iter().map(|id| &graph[*id]).collect();
        let lifetimes = lifetimes_of(graph, &self.roots, &nodes);
        let mut planned = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let alive_at = |v: &ValueId, at: fn(&super::Lifetime) -> usize| {
                lifetimes.get(v).is_some_and(|l| at(l) == index)
            };
            let in_place = self.in_place_input(graph, node, |v| alive_at(&v, |l| l.last));
            let mut acquires = Vec::new();
            for value in node
                .writes
                .iter()
                .filter(|v| node.op != Op::Reshape && alive_at(v, |l| l.first))
            {
                match (acquires.is_empty(), in_place) {
                    (true, Some(input)) => self.places[value.0] = self.places[input.0],
                    _ => {
                        self.places[value.0] =
                            Place::Slot(self.take(round_to_buffer(graph[*value].bytes())));
                    }
                }
                acquires.push(*value);
            }
            let mut releases: Vec<ValueId> = Vec::new();
            for value in node
                .reads
                .iter()
                .chain(&node.writes)
                .map(|v| self.roots[v.0])
            {
                let given_on = in_place == Some(value);
                if !given_on && !releases.contains(&value) && alive_at(&value, |l| l.last) {
                    releases.push(value);
                }
            }
            for value in &releases {
                if let Place::Slot(slot) = self.places[value.0] {
                    self.free.push(slot);
                }
            }
            let cuts = cuts(graph, node);
            planned.push(PlannedNode {
                node: ids[index],
                acquires,
                in_place,
                releases,
                cuts,
            });
        }
        PlannedProgram {
            program,
            nodes: planned,
            timeline: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> (Vec<Place>, Vec<u64>) {
        (self.places, self.bytes)
    }

    /// The root of the first input, if the node may write its output over it: the operation can, nobody uses the bytes
    /// later, and no other input reads them.
    fn in_place_input(
        &self,
        graph: &Graph,
        node: &Node,
        dies_here: impl Fn(ValueId) -> bool,
    ) -> Option<ValueId> {
        let (first, others) = node.reads.split_first()?;
        let root = self.roots[first.0];
        let output = node.writes.first()?;
        let fits = round_to_buffer(graph[*output].bytes()) == round_to_buffer(graph[root].bytes());
        let allowed =
            node.op.can_run_in_place() && !graph[root].persistent && !graph[*output].persistent;
        let shared = others.iter().any(|v| self.roots[v.0] == root);
        (allowed && fits && !shared && dies_here(root)).then_some(root)
    }

    /// The smallest free slot that is large enough; else the largest free one, grown; else a new one.
    fn take(&mut self, bytes: u64) -> usize {
        let fitting = self
            .free
            .iter()
            .copied()
            .filter(|s| self.bytes[*s] >= bytes)
            .min_by_key(|s| (self.bytes[*s], *s));
        let chosen = fitting.or_else(|| {
            self.free
                .iter()
                .copied()
                .max_by_key(|s| (self.bytes[*s], usize::MAX - *s))
        });
        let Some(slot) = chosen else {
            self.bytes.push(bytes);
            return self.bytes.len() - 1;
        };
        self.free.retain(|s| *s != slot);
        self.bytes[slot] = self.bytes[slot].max(bytes);
        slot
    }
}
