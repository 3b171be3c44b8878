//! The plan: when each value of a step is alive, where it lies, and how many bytes of which class that makes at every
//! node, all before the first byte is taken.

mod cuts;
mod lifetime;
mod limits;
mod slots;
mod timeline;

pub use cuts::{Cut, LAUNCH_MULTIPLY_ADDS, cuts};
pub use lifetime::{Lifetime, lifetimes};
pub use limits::{DeviceLimits, LimitError};
pub use timeline::{Moment, TensorInfo};

use crate::graph::{ByClass, Class, Graph, NodeId, PROGRAMS, Program, ValueId};
use crate::units::{BUFFER_ALIGNMENT, round_to_buffer};

/// Result buffers in flight between the device and the host. Three let the device run ahead by two updates.
pub const READBACK_RING: usize = 3;

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a buffer of its own, from start to end of the training.
    Own,
    /// In a slot, during its lifetime.
    Slot(usize),
    /// Under the bytes of another value (a reshape).
    Alias(ValueId),
    /// Nowhere: no program uses it.
    Unused,
}

/// One node with what changes hands around it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedNode {
    /// The node.
    pub node: NodeId,
    /// Values that get their slot before it runs.
    pub acquires: Vec<ValueId>,
    /// The input that gives its bytes to the first output, if the node runs in place.
    pub in_place: Option<ValueId>,
    /// Values whose slot is free after it ran.
    pub releases: Vec<ValueId>,
    /// Launches the node is cut into; empty for a reshape.
    pub cuts: Vec<Cut>,
}

/// One program: its nodes in order and the bytes that are alive while each runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedProgram {
    /// Which one.
    pub program: Program,
    /// Nodes in the order they run.
    pub nodes: Vec<PlannedNode>,
    /// Bytes by class during each node; same length as `nodes`.
    pub timeline: Vec<ByClass>,
}

impl PlannedProgram {
    /// Kernel launches of one run of the program.
    pub fn n_launches(&self) -> usize {
        self.nodes.iter().map(|n| n.cuts.len()).sum()
    }

    /// Name of the buffer that holds the uniform numbers of its launches.
    pub fn params_name(&self) -> String {
        format!("{}.launch_numbers", self.program.name())
    }

    /// Bytes of that buffer: one aligned block per launch.
    pub fn params_bytes(&self) -> u64 {
        self.n_launches() as u64 * BUFFER_ALIGNMENT
    }
}

/// A buffer the engine needs that is no value of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// Name in reports.
    pub name: String,
    /// Memory class.
    pub class: Class,
    /// Bytes.
    pub bytes: u64,
}

/// Everything an engine needs to run a step, and everything a report needs to predict it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Values and nodes; classes of transient values are decided.
    pub graph: Graph,
    /// Where each value lies; indexed by [`ValueId`].
    pub places: Vec<Place>,
    /// Bytes of each slot. One slot is one buffer.
    pub slots: Vec<u64>,
    /// The programs in the order of [`PROGRAMS`].
    pub programs: Vec<PlannedProgram>,
    /// Buffers beside the values.
    pub fixtures: Vec<Fixture>,
}

impl Plan {
    /// Plans all programs of `graph`. They never run at the same time, so they share the slots.
    pub fn new(mut graph: Graph) -> Self {
        let aliases = lifetime::aliases(&graph);
        lifetime::classify(&mut graph, &aliases);
        let mut slots = slots::Slots::new(&graph, &aliases);
        let mut programs: Vec<PlannedProgram> = PROGRAMS
            .into_iter()
            .map(|program| slots.place(&graph, program))
            .filter(|p| !p.nodes.is_empty())
            .collect();
        let (places, slot_bytes) = slots.finish();
        let fixtures = fixtures(&programs);
        timeline::fill(&graph, &places, &slot_bytes, &fixtures, &mut programs);
        Self {
            graph,
            places,
            slots: slot_bytes,
            programs,
            fixtures,
        }
    }

    /// The plan of one program; none if the graph has no node in it.
    pub fn program(&self, program: Program) -> Option<&PlannedProgram> {
        self.programs.iter().find(|p| p.program == program)
    }

    /// Bytes taken from the device: own buffers, fixtures and slots.
    pub fn reserved_bytes(&self) -> u64 {
        self.resident().reserved() + self.slots.iter().sum::<u64>()
    }

    /// Bytes by class that stay from step to step: own buffers and fixtures.
    pub fn resident(&self) -> ByClass {
        timeline::resident(&self.graph, &self.places, &self.fixtures)
    }

    /// Follows aliases to the value that owns the bytes.
    pub fn root(&self, value: ValueId) -> ValueId {
        match self.places.get(value.0) {
            Some(Place::Alias(root)) => *root,
            _ => value,
        }
    }

    /// Values with a buffer of their own.
    pub fn own_values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, p)| **p == Place::Own)
            .map(|(i, _)| ValueId(i))
    }

    /// Bytes a value takes in the pool.
    pub fn pool_bytes(&self, value: ValueId) -> u64 {
        round_to_buffer(self.graph[value].bytes())
    }
}

/// The buffers every engine keeps: step numbers, launch numbers per program, and the ring the results come back in.
fn fixtures(programs: &[PlannedProgram]) -> Vec<Fixture> {
    let mut all = vec![Fixture {
        name: "step_numbers".into(),
        class: Class::Workspace,
        bytes: BUFFER_ALIGNMENT,
    }];
    all.extend(programs.iter().map(|program| Fixture {
        name: program.params_name(),
        class: Class::Workspace,
        bytes: program.params_bytes().max(BUFFER_ALIGNMENT),
    }));
    all.extend((0..READBACK_RING).map(|index| Fixture {
        name: format!("readback{index}"),
        class: Class::Staging,
        bytes: BUFFER_ALIGNMENT,
    }));
    all
}
