//! The engine on the host: plans run with the kernels' twins, in the same order and with the same bytes.

pub mod twins;

use super::kernel::Step;
use super::ledger::Ledger;
use super::memory::{Allocator, Made, Memory, Purpose};
use super::{Engine, EngineError, EngineInfo, Local, Readback, Tier, launches};
use crate::graph::{Program, ValueId};
use crate::plan::Plan;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes buffers on the host's heap.
#[derive(Default)]
struct HostAllocator {
    made: Made,
}

impl Allocator for HostAllocator {
    type Buffer = Vec<Cell<u32>>;

    fn create(&mut self, _label: &str, bytes: u64, _purpose: Purpose) -> Option<Self::Buffer> {
        let words = usize::try_from(bytes / 4).ok()?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(words).ok()?;
        buffer.resize(words, Cell::new(0));
        self.made.created(4 * words as u64);
        Some(buffer)
    }

    fn destroy(&mut self, buffer: Self::Buffer) {
        self.made.destroyed(4 * buffer.len() as u64);
        drop(buffer);
    }
}

/// Runs plans on the host.
pub struct CpuEngine {
    memory: Memory<HostAllocator>,
    plan: Option<Arc<Plan>>,
    kernels: BTreeSet<&'static str>,
    /// Programs that have run: their slots are there, so nothing can be refused any more.
    has_run: BTreeSet<Program>,
}

impl Default for CpuEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuEngine {
    /// An engine with nothing loaded.
    pub fn new() -> Self {
        Self {
            memory: Memory::new(HostAllocator::default()),
            plan: None,
            kernels: BTreeSet::new(),
            has_run: BTreeSet::new(),
        }
    }

    fn plan(&self) -> Result<Arc<Plan>, EngineError> {
        self.plan
            .clone()
            .ok_or_else(|| EngineError::NotLoaded("anything".into()))
    }

    fn run_program(&mut self, program: Program, step: &Step) -> Result<(), EngineError> {
        let plan = self.plan()?;
        if self.has_run.insert(program) {
            // Takes every slot before the first node computes, so that a refusal leaves everything as it was.
            let walked = self.memory.walk(&plan, program, |_, _| Ok(()));
            if walked.is_err() {
                self.has_run.remove(&program);
                return walked;
            }
        }
        let kernels = &mut self.kernels;
        self.memory.walk(&plan, program, |memory, planned| {
            // The processor tier's kernels have the twins with the plainest loops.
            for launch in launches(&plan.graph, planned, Tier::Processor)? {
                let mut bindings = Vec::with_capacity(launch.bindings.len());
                for bound in &launch.bindings {
                    let words = memory.buffer(&plan, bound.value)?;
                    let offset = (bound.offset_bytes / 4) as usize;
                    bindings.push(words.get(offset..).unwrap_or_default());
                }
                twins::run_twin(launch.kernel.name, &launch.params, step, &bindings)?;
                kernels.insert(launch.kernel.name);
            }
            Ok(())
        })
    }

    fn words(&self, value: ValueId) -> Result<Vec<u32>, EngineError> {
        let plan = self.plan()?;
        let n_words = (plan.graph[value].bytes() / 4) as usize;
        Ok(self
            .memory
            .buffer(&plan, value)?
            .iter()
            .take(n_words)
            .map(Cell::get)
            .collect())
    }
}

impl Engine for CpuEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            kind: "cpu".into(),
            adapter: "host processor".into(),
            backend: "host".into(),
            device_type: "cpu".into(),
            driver: String::new(),
            features: Vec::new(),
            kernels: self.kernels.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn load(&mut self, plan: Arc<Plan>, budget: Option<u64>) -> Result<(), EngineError> {
        self.unload();
        self.memory.load(&plan, budget)?;
        self.plan = Some(plan);
        Ok(())
    }

    fn set_budget(&mut self, budget: Option<u64>) {
        self.memory.set_budget(budget);
    }

    fn unload(&mut self) {
        self.plan = None;
        self.has_run.clear();
        self.memory.unload();
    }

    fn upload(&mut self, value: ValueId, words: &[u32]) -> Result<(), EngineError> {
        let plan = self.plan()?;
        for (cell, word) in self.memory.buffer(&plan, value)?.iter().zip(words) {
            cell.set(*word);
        }
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        program: Program,
        step: &'a Step,
    ) -> Local<'a, Result<(), EngineError>> {
        Box::pin(async move { self.run_program(program, step) })
    }

    fn request<'a>(
        &'a mut self,
        tag: u64,
        values: &'a [ValueId],
    ) -> Local<'a, Result<Vec<Readback>, EngineError>> {
        Box::pin(async move {
            let mut words = Vec::new();
            for value in values {
                words.extend(self.words(*value)?);
            }
            Ok(vec![Readback { tag, words }])
        })
    }

    fn flush(&mut self) -> Local<'_, Result<Vec<Readback>, EngineError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read(&mut self, value: ValueId) -> Local<'_, Result<Vec<u32>, EngineError>> {
        Box::pin(async move { self.words(value) })
    }

    fn ledger(&self) -> &Ledger {
        self.memory.ledger()
    }

    fn buffers_made(&self) -> (usize, u64) {
        self.memory.allocator().made.get()
    }

    fn driver_bytes(&self) -> Option<u64> {
        None
    }
}
