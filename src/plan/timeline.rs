//! Bytes by class while each node runs, and the moment at which they are most.

use super::{Fixture, Place, Plan, PlannedProgram};
use crate::graph::{ByClass, Class, Graph, Node, Phase, Program, ValueId};
use crate::units::round_to_buffer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One node of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Program the node belongs to.
    pub program: Program,
    /// Part of the step.
    pub phase: Phase,
    /// The node.
    pub node: String,
    /// Bytes while it runs.
    pub by_class: ByClass,
}

/// A tensor or buffer, for lists of the largest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// Name in the graph.
    pub name: String,
    /// Memory class.
    pub class: String,
    /// Bytes in the pool.
    pub bytes: u64,
    /// Number format.
    pub dtype: String,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
}

impl Plan {
    /// Every node of every program with the bytes alive while it runs.
    pub fn timeline(&self) -> Vec<Moment> {
        let programs = self.programs.iter();
        programs
            .flat_map(|p| {
                p.nodes
                    .iter()
                    .zip(&p.timeline)
                    .map(|(n, b)| self.moment(p, n.node, *b))
            })
            .collect()
    }

    /// The node at which most bytes are in use; the first of several.
    pub fn peak(&self) -> Moment {
        let moments = self.timeline().into_iter().rev();
        let peak = moments.max_by_key(|m| m.by_class.allocated());
        peak.unwrap_or_else(|| Moment {
            program: Program::Accumulate,
            phase: Phase::Forward,
            node: String::new(),
            by_class: ByClass::default(),
        })
    }

    /// Most bytes in use at any moment.
    pub fn peak_bytes(&self) -> u64 {
        self.peak().by_class.allocated()
    }

    /// For each class the most bytes it takes at any moment.
    pub fn peak_by_class(&self) -> ByClass {
        let moments = self.programs.iter().flat_map(|p| &p.timeline);
        moments.fold(self.resident(), |all, moment| all.max(moment))
    }

    /// Values and buffers that are alive at the peak, largest first.
    pub fn largest(&self, count: usize) -> Vec<TensorInfo> {
        let peak = self.peak();
        let mut alive: Vec<ValueId> = self.own_values().collect();
        if let Some(program) = self.program(peak.program) {
            let mut transient = BTreeSet::new();
            for planned in &program.nodes {
                transient.extend(planned.acquires.iter().copied());
                if let Some(input) = planned.in_place {
                    transient.remove(&input);
                }
                if self.graph[planned.node].name == peak.node {
                    break;
                }
                for value in &planned.releases {
                    transient.remove(value);
                }
            }
            alive.extend(transient);
        }
        let mut all: Vec<TensorInfo> = alive.into_iter().map(|v| self.tensor_info(v)).collect();
        all.extend(self.fixtures.iter().map(|f| TensorInfo {
            name: f.name.clone(),
            class: f.class.name().into(),
            bytes: round_to_buffer(f.bytes),
            dtype: "u32".into(),
            shape: vec![(f.bytes / 4) as usize],
        }));
        all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        all.truncate(count);
        all
    }

    /// Name, class, bytes, format and shape of a value.
    pub fn tensor_info(&self, value: ValueId) -> TensorInfo {
        let v = &self.graph[value];
        TensorInfo {
            name: v.name.clone(),
            class: v.class.name().into(),
            bytes: self.pool_bytes(value),
            dtype: v.dtype.name().into(),
            shape: v.shape.clone(),
        }
    }

    fn moment(
        &self,
        program: &PlannedProgram,
        node: crate::graph::NodeId,
        by_class: ByClass,
    ) -> Moment {
        let Node { name, phase, .. } = &self.graph[node];
        Moment {
            program: program.program,
            phase: *phase,
            node: name.clone(),
            by_class,
        }
    }
}

/// Bytes by class of the buffers that stay.
pub(super) fn resident(graph: &Graph, places: &[Place], fixtures: &[Fixture]) -> ByClass {
    let mut bytes = ByClass::default();
    for (index, place) in places.iter().enumerate() {
        if *place == Place::Own {
            bytes.add(
                graph.values[index].class,
                round_to_buffer(graph.values[index].bytes()),
            );
        }
    }
    for fixture in fixtures {
        bytes.add(fixture.class, round_to_buffer(fixture.bytes));
    }
    bytes
}

/// Fills in the timelines by walking each program as the engine will.
pub(super) fn fill(
    graph: &Graph,
    places: &[Place],
    slots: &[u64],
    fixtures: &[Fixture],
    programs: &mut [PlannedProgram],
) {
    let bytes_of = |value: ValueId| round_to_buffer(graph[value].bytes());
    for program in programs {
        let mut now = resident(graph, places, fixtures);
        now.set(Class::Cached, slots.iter().sum());
        for planned in &program.nodes {
            if let Some(input) = planned.in_place {
                now.sub(graph[input].class, bytes_of(input));
                now.add(Class::Cached, bytes_of(input));
            }
            for value in &planned.acquires {
                now.add(graph[*value].class, bytes_of(*value));
                now.sub(Class::Cached, bytes_of(*value));
            }
            program.timeline.push(now);
            for value in &planned.releases {
                now.sub(graph[*value].class, bytes_of(*value));
                now.add(Class::Cached, bytes_of(*value));
            }
        }
    }
}
