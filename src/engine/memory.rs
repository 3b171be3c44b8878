//! The memory of a loaded plan: own buffers, fixtures and slots, with the budget and the ledger. The same code counts
//! for every engine; what a buffer is, is the allocator's business.

use super::EngineError;
use super::ledger::{Ledger, OutOfMemory};
use crate::graph::{Class, Phase, Program, ValueId};
use crate::plan::{Place, Plan, PlannedNode};
use crate::units::round_to_buffer;
use std::collections::BTreeMap;

/// What a buffer is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Read and written by kernels.
    Storage,
    /// Numbers of a launch or a step.
    Uniform,
    /// Copied to and read by the host.
    Readback,
}

/// Makes and frees buffers.
pub(super) trait Allocator {
    /// A buffer. Dropping it may not free its bytes at once, hence [`Allocator::destroy`].
    type Buffer;

    /// A zeroed buffer of exactly `bytes` bytes; none if there is no memory for it.
    fn create(&mut self, label: &str, bytes: u64, purpose: Purpose) -> Option<Self::Buffer>;

    /// Frees the bytes of a buffer now.
    fn destroy(&mut self, buffer: Self::Buffer);
}

/// Buffers made and not destroyed. An allocator keeps its own count, against which the ledger is tested.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Made {
    buffers: usize,
    bytes: u64,
}

impl Made {
    pub(super) fn created(&mut self, bytes: u64) {
        self.buffers += 1;
        self.bytes += bytes;
    }

    pub(super) fn destroyed(&mut self, bytes: u64) {
        self.buffers -= 1;
        self.bytes -= bytes;
    }

    pub(super) fn get(self) -> (usize, u64) {
        (self.buffers, self.bytes)
    }
}

/// A buffer with what it counts as.
struct Held<B> {
    buffer: B,
    class: Class,
    bytes: u64,
}

/// All buffers of a loaded plan.
pub(super) struct Memory<A: Allocator> {
    allocator: A,
    ledger: Ledger,
    budget: Option<u64>,
    own: BTreeMap<ValueId, Held<A::Buffer>>,
    fixtures: BTreeMap<String, Held<A::Buffer>>,
    slots: Vec<Option<A::Buffer>>,
    slot_bytes: Vec<u64>,
    /// Transient values that hold their slot now.
    taken: BTreeMap<ValueId, (Class, u64)>,
}

impl<A: Allocator> Memory<A> {
    pub(super) fn new(allocator: A) -> Self {
        Self {
            allocator,
            ledger: Ledger::default(),
            budget: None,
            own: BTreeMap::new(),
            fixtures: BTreeMap::new(),
            slots: Vec::new(),
            slot_bytes: Vec::new(),
            taken: BTreeMap::new(),
        }
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn allocator(&self) -> &A {
        &self.allocator
    }

    /// Makes the buffers that stay; the slots are made when a node first needs them.
    pub(super) fn load(&mut self, plan: &Plan, budget: Option<u64>) -> Result<(), EngineError> {
        self.unload();
        self.ledger.forget();
        self.budget = budget;
        self.slots = plan.slots.iter().map(|_| None).collect();
        self.slot_bytes.clone_from(&plan.slots);
        let made = self.make_resident(plan);
        if made.is_err() {
            self.unload();
        }
        made
    }

    fn make_resident(&mut self, plan: &Plan) -> Result<(), EngineError> {
        for fixture in &plan.fixtures {
            let purpose = if fixture.class == Class::Staging {
                Purpose::Readback
            } else {
                Purpose::Uniform
            };
            let held = self.create(
                plan,
                &fixture.name,
                fixture.class,
                fixture.bytes,
                purpose,
                None,
            )?;
            self.fixtures.insert(fixture.name.clone(), held);
        }
        for value in plan.own_values() {
            let v = &plan.graph[value];
            let held = self.create(plan, &v.name, v.class, v.bytes(), Purpose::Storage, None)?;
            self.own.insert(value, held);
        }
        Ok(())
    }

    pub(super) fn set_budget(&mut self, budget: Option<u64>) {
        self.budget = budget;
    }

    /// Frees every buffer.
    pub(super) fn unload(&mut self) {
        self.release_all();
        let own = std::mem::take(&mut self.own).into_values();
        for held in own.chain(std::mem::take(&mut self.fixtures).into_values()) {
            self.ledger.destroyed(held.class, held.bytes);
            self.allocator.destroy(held.buffer);
        }
        for (buffer, bytes) in std::mem::take(&mut self.slots)
            .into_iter()
            .zip(&self.slot_bytes)
        {
            if let Some(buffer) = buffer {
                self.ledger.destroyed(Class::Cached, *bytes);
                self.allocator.destroy(buffer);
            }
        }
    }

    /// Walks the nodes of a program in order. For each, its outputs get their bytes, the ledger records the moment,
    /// `run` is called, and what nobody needs any more is given back. On an error everything is given back.
    pub(super) fn walk(
        &mut self,
        plan: &Plan,
        program: Program,
        mut run: impl FnMut(&Self, &PlannedNode) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let planned = plan
            .program(program)
            .ok_or_else(|| EngineError::NotLoaded(format!("program {}", program.name())))?;
        self.ledger.enter(program);
        for node in &planned.nodes {
            let result = self
                .acquire(plan, program, node)
                .and_then(|()| run(self, node));
            if let Err(error) = result {
                self.release_all();
                return Err(error);
            }
            for value in &node.releases {
                self.release(*value);
            }
        }
        Ok(())
    }

    fn acquire(
        &mut self,
        plan: &Plan,
        program: Program,
        planned: &PlannedNode,
    ) -> Result<(), EngineError> {
        let node = &plan.graph[planned.node];
        if let Some(input) = planned.in_place {
            self.release(input);
        }
        for value in &planned.acquires {
            let Place::Slot(slot) = plan.places[value.0] else {
                continue;
            };
            let v = &plan.graph[*value];
            if self.slots[slot].is_none() {
                let during = Some((program, node.phase, node.name.clone()));
                let bytes = self.slot_bytes[slot];
                let held = self.create(
                    plan,
                    &v.name,
                    Class::Cached,
                    bytes,
                    Purpose::Storage,
                    during,
                )?;
                self.slots[slot] = Some(held.buffer);
            }
            let bytes = plan.pool_bytes(*value);
            let reserved = self.ledger.now().reserved();
            if self.budget.is_some_and(|budget| reserved > budget) {
                // The budget was lowered below what is taken already.
                let during = Some((program, node.phase, node.name.clone()));
                return Err(self
                    .refusal(plan, &v.name, bytes, during, self.budget)
                    .into());
            }
            self.ledger.taken(v.class, bytes);
            self.taken.insert(*value, (v.class, bytes));
        }
        self.ledger.record(program, node.phase, &node.name);
        Ok(())
    }

    fn release(&mut self, value: ValueId) {
        if let Some((class, bytes)) = self.taken.remove(&value) {
            self.ledger.given_back(class, bytes);
        }
    }

    fn release_all(&mut self) {
        for (class, bytes) in std::mem::take(&mut self.taken).into_values() {
            self.ledger.given_back(class, bytes);
        }
    }

    /// The buffer a value lies in now.
    pub(super) fn buffer(&self, plan: &Plan, value: ValueId) -> Result<&A::Buffer, EngineError> {
        let root = plan.root(value);
        let buffer = match plan.places.get(root.0) {
            Some(Place::Own) => self.own.get(&root).map(|held| &held.buffer),
            Some(Place::Slot(slot)) => self.slots.get(*slot).and_then(Option::as_ref),
            _ => None,
        };
        buffer.ok_or_else(|| {
            EngineError::NotLoaded(
                plan.graph
                    .values
                    .get(root.0)
                    .map_or_else(String::new, |v| v.name.clone()),
            )
        })
    }

    pub(super) fn fixture(&self, name: &str) -> Result<&A::Buffer, EngineError> {
        self.fixtures
            .get(name)
            .map(|held| &held.buffer)
            .ok_or_else(|| EngineError::NotLoaded(name.into()))
    }

    /// A buffer for one readback; give it to [`Memory::destroy_staging`] afterwards.
    pub(super) fn create_staging(
        &mut self,
        plan: &Plan,
        bytes: u64,
    ) -> Result<(A::Buffer, u64), EngineError> {
        let held = self.create(
            plan,
            "readback",
            Class::Staging,
            bytes,
            Purpose::Readback,
            None,
        )?;
        Ok((held.buffer, held.bytes))
    }

    pub(super) fn destroy_staging(&mut self, buffer: A::Buffer, bytes: u64) {
        self.ledger.destroyed(Class::Staging, bytes);
        self.allocator.destroy(buffer);
    }

    fn create(
        &mut self,
        plan: &Plan,
        name: &str,
        class: Class,
        bytes: u64,
        purpose: Purpose,
        during: Option<(Program, Phase, String)>,
    ) -> Result<Held<A::Buffer>, EngineError> {
        let bytes = round_to_buffer(bytes);
        let allowed = self
            .budget
            .is_none_or(|budget| self.ledger.now().reserved() + bytes <= budget);
        let buffer = if allowed {
            self.allocator.create(name, bytes, purpose)
        } else {
            None
        };
        let Some(buffer) = buffer else {
            let budget = if allowed { None } else { self.budget };
            return Err(self.refusal(plan, name, bytes, during, budget).into());
        };
        self.ledger.created(class, bytes);
        Ok(Held {
            buffer,
            class,
            bytes,
        })
    }

    fn refusal(
        &self,
        plan: &Plan,
        asked_for: &str,
        asked_bytes: u64,
        during: Option<(Program, Phase, String)>,
        budget_bytes: Option<u64>,
    ) -> Box<OutOfMemory> {
        Box::new(OutOfMemory {
            asked_for: asked_for.into(),
            asked_bytes,
            during,
            budget_bytes,
            by_class: *self.ledger.now(),
            largest: self.largest(plan),
            would_fit: Vec::new(),
        })
    }

    /// The ten largest values alive.
    fn largest(&self, plan: &Plan) -> Vec<(String, Class, u64)> {
        let own = self
            .own
            .iter()
            .map(|(v, held)| (plan.graph[*v].name.clone(), held.class, held.bytes));
        let taken = self
            .taken
            .iter()
            .map(|(v, (class, bytes))| (plan.graph[*v].name.clone(), *class, *bytes));
        let fixtures = self
            .fixtures
            .iter()
            .map(|(name, held)| (name.clone(), held.class, held.bytes));
        let mut all: Vec<_> = own.chain(taken).chain(fixtures).collect();
        all.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        all.truncate(10);
        all
    }
}
