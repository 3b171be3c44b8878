//! The engine on a device: plans run as WGSL kernels, one submission per program where that is short enough.

#[cfg(target_arch = "wasm32")]
mod browser;
mod device;
mod pipelines;
mod pool;
mod readback;

pub use device::{AdapterReport, adapters};

use super::kernel::{PARAMS_BYTES, Step};
use super::ledger::Ledger;
use super::memory::{Made, Memory};
use super::{Engine, EngineError, EngineInfo, Launch, Local, Readback, Tier, launches};
use crate::graph::{Program, ValueId};
use crate::plan::{Plan, PlannedNode, READBACK_RING};
use crate::units::{BUFFER_ALIGNMENT, round_to_buffer};
use device::Device;
use pipelines::{Pipeline, Pipelines};
use pool::GpuAllocator;
use readback::{Mapping, take_words};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Runs plans on a graphics adapter.
pub struct GpuEngine {
    device: Device,
    memory: Memory<GpuAllocator>,
    pipelines: Pipelines,
    loaded: Option<Loaded>,
}

/// What belongs to the loaded plan.
struct Loaded {
    plan: Arc<Plan>,
    /// The bound launches of each program, made in its first run and replayed in every later one.
    recorded: BTreeMap<Program, Rc<Vec<Bound>>>,
    ring: VecDeque<InFlight>,
    next_ring_buffer: usize,
}

/// A launch with its bind groups.
struct Bound {
    pipeline: Rc<Pipeline>,
    tensors: wgpu::BindGroup,
    numbers: wgpu::BindGroup,
    groups: [u32; 3],
    multiply_adds: u64,
}

/// A readback that has been asked for.
struct InFlight {
    tag: u64,
    n_words: usize,
    ring_buffer: usize,
    mapping: Mapping,
}

impl GpuEngine {
    /// Opens the preferred adapter.
    ///
    /// # Errors
    /// [`EngineError::NoAdapter`].
    pub async fn open() -> Result<Self, EngineError> {
        let device = device::open().await?;
        let memory = Memory::new(GpuAllocator {
            device: device.clone(),
            made: Made::default(),
        });
        Ok(Self {
            device,
            memory,
            pipelines: Pipelines::default(),
            loaded: None,
        })
    }

    /// Multiply-adds of one submission: a tenth of a second at most, so that the driver's patience (two seconds on some
    /// systems) is never tried and a UI on the same adapter gets its turn.
    fn submission_multiply_adds(&self) -> u64 {
        match self.device.tier {
            Tier::Processor => 100_000_000,
            Tier::Graphics => 20_000_000_000,
        }
    }

    /// Updates that may be on their way at once. A graphics card is kept busy by letting the host run ahead; a processor
    /// that stands in for one needs its cores back between two updates, or a UI drawn by the same cores stands still.
    fn depth(&self) -> usize {
        match self.device.tier {
            Tier::Processor => 1,
            // One buffer of the ring stays free for the next request.
            Tier::Graphics => READBACK_RING,
        }
    }

    /// Acts as if the driver had reset the device; for tests of what happens then.
    pub fn simulate_device_loss(&self) {
        self.device.faults.lose("simulated loss");
    }

    /// The bound launches of a program. The first call binds them while the memory walks the program; later ones only
    /// walk it.
    fn bound(&mut self, program: Program) -> Result<Rc<Vec<Bound>>, EngineError> {
        let loaded = self.loaded()?;
        let plan = loaded.plan.clone();
        if let Some(bound) = loaded.recorded.get(&program).cloned() {
            self.memory.walk(&plan, program, |_, _| Ok(()))?;
            return Ok(bound);
        }
        let bound = Rc::new(self.record(&plan, program)?);
        if let Some(loaded) = self.loaded.as_mut() {
            loaded.recorded.insert(program, bound.clone());
        }
        Ok(bound)
    }

    fn record(&mut self, plan: &Plan, program: Program) -> Result<Vec<Bound>, EngineError> {
        let Self {
            device,
            memory,
            pipelines,
            ..
        } = self;
        let mut numbers = Vec::new();
        let mut bound = Vec::new();
        let params_name = plan
            .program(program)
            .map(crate::plan::PlannedProgram::params_name)
            .unwrap_or_default();
        memory.walk(plan, program, |memory, planned: &PlannedNode| {
            for launch in launches(&plan.graph, planned, device.tier)? {
                let offset = numbers.len() as u64;
                numbers.extend_from_slice(&launch.params.bytes(launch.kernel)?);
                let pipeline = pipelines.get(&device.wgpu, launch.kernel);
                let params = memory.fixture(&params_name)?;
                bound.push(bind(
                    device,
                    memory,
                    plan,
                    &launch,
                    pipeline,
                    (params, offset),
                )?);
            }
            Ok(())
        })?;
        device
            .queue
            .write_buffer(memory.fixture(&params_name)?, 0, &numbers);
        Ok(bound)
    }

    /// Submits launches in portions. A processor that stands in for a graphics card gets the next portion only when it
    /// has done the last, so that the drawing of a UI comes in between.
    async fn submit(&self, bound: &[Bound]) -> Result<(), EngineError> {
        let limit = self.submission_multiply_adds();
        let mut rest = bound;
        while !rest.is_empty() {
            let mut work = 0;
            let fitting = rest.iter().take_while(|b| {
                work += b.multiply_adds;
                work <= limit
            });
            let (now, later) = rest.split_at(fitting.count().max(1));
            let label = Some("headroom.step");
            let mut encoder = self
                .device
                .wgpu
                .create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label,
                timestamp_writes: None,
            });
            for launch in now {
                pass.set_pipeline(&launch.pipeline.pipeline);
                pass.set_bind_group(0, &launch.tensors, &[]);
                pass.set_bind_group(1, &launch.numbers, &[]);
                let [x, y, z] = launch.groups;
                pass.dispatch_workgroups(x, y, z);
            }
            drop(pass);
            let submission = self.device.queue.submit([encoder.finish()]);
            rest = later;
            if self.device.tier == Tier::Processor && !rest.is_empty() {
                readback::finished(&self.device, submission).await?;
            }
        }
        Ok(())
    }

    async fn run_program(&mut self, program: Program, step: &Step) -> Result<(), EngineError> {
        self.device.faults.check()?;
        let bound = self.bound(program)?;
        let numbers = self.memory.fixture("step_numbers")?;
        self.device
            .queue
            .write_buffer(numbers, 0, bytemuck::bytes_of(step));
        self.submit(&bound).await?;
        self.device.faults.check()
    }

    fn loaded(&self) -> Result<&Loaded, EngineError> {
        self.loaded
            .as_ref()
            .ok_or_else(|| EngineError::NotLoaded("anything".into()))
    }

    /// The oldest readback in flight, as words; none if none is in flight.
    async fn take_oldest(&mut self) -> Result<Option<Readback>, EngineError> {
        let Some(InFlight {
            tag,
            n_words,
            ring_buffer,
            mapping,
        }) = self.loaded.as_mut().and_then(|l| l.ring.pop_front())
        else {
            return Ok(None);
        };
        mapping.wait(&self.device).await?;
        let words = take_words(self.memory.fixture(&ring_name(ring_buffer))?, n_words)?;
        Ok(Some(Readback { tag, words }))
    }

    async fn request_values(
        &mut self,
        tag: u64,
        values: &[ValueId],
    ) -> Result<Vec<Readback>, EngineError> {
        let mut arrived = Vec::new();
        while self
            .loaded()?
            .ring
            .front()
            .is_some_and(|f| f.mapping.is_done(&self.device))
        {
            arrived.extend(self.take_oldest().await?);
        }
        let Some(loaded) = self.loaded.as_mut() else {
            return Ok(arrived);
        };
        let ring_buffer = loaded.next_ring_buffer;
        let target = self.memory.fixture(&ring_name(ring_buffer))?;
        let label = Some("headroom.readback");
        let mut encoder = self
            .device
            .wgpu
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
        let mut bytes = 0;
        for value in values {
            let length = loaded.plan.graph[*value].bytes();
            if bytes + length > BUFFER_ALIGNMENT {
                return Err(EngineError::Validation(format!(
                    "{} bytes asked for at once, {BUFFER_ALIGNMENT} fit",
                    bytes + length
                )));
            }
            encoder.copy_buffer_to_buffer(
                self.memory.buffer(&loaded.plan, *value)?,
                0,
                target,
                bytes,
                Some(length),
            );
            bytes += length;
        }
        let submission = self.device.queue.submit([encoder.finish()]);
        loaded.next_ring_buffer = (ring_buffer + 1) % READBACK_RING;
        let mapping = Mapping::start(target, submission);
        loaded.ring.push_back(InFlight {
            tag,
            n_words: (bytes / 4) as usize,
            ring_buffer,
            mapping,
        });
        self.device.faults.check()?;
        while self.loaded()?.ring.len() >= self.depth() {
            arrived.extend(self.take_oldest().await?);
        }
        Ok(arrived)
    }

    async fn read_value(&mut self, value: ValueId) -> Result<Vec<u32>, EngineError> {
        let plan = self.loaded()?.plan.clone();
        let bytes = plan.graph[value].bytes();
        let (staging, staging_bytes) = self.memory.create_staging(&plan, bytes)?;
        let label = Some("headroom.read");
        let mut encoder = self
            .device
            .wgpu
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
        encoder.copy_buffer_to_buffer(
            self.memory.buffer(&plan, value)?,
            0,
            &staging,
            0,
            Some(bytes),
        );
        let submission = self.device.queue.submit([encoder.finish()]);
        let waited = Mapping::start(&staging, submission)
            .wait(&self.device)
            .await;
        let words = waited.and_then(|()| take_words(&staging, (bytes / 4) as usize));
        self.memory.destroy_staging(staging, staging_bytes);
        words
    }
}

impl Engine for GpuEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            kernels: self.pipelines.names(),
            ..self.device.info.clone()
        }
    }

    fn load(&mut self, plan: Arc<Plan>, budget: Option<u64>) -> Result<(), EngineError> {
        self.unload();
        plan.check_limits(self.device.limits)?;
        self.memory.load(&plan, budget)?;
        self.loaded = Some(Loaded {
            plan,
            recorded: BTreeMap::new(),
            ring: VecDeque::new(),
            next_ring_buffer: 0,
        });
        Ok(())
    }

    fn set_budget(&mut self, budget: Option<u64>) {
        self.memory.set_budget(budget);
    }

    fn unload(&mut self) {
        self.loaded = None;
        self.memory.unload();
        self.device.look();
    }

    fn upload(&mut self, value: ValueId, words: &[u32]) -> Result<(), EngineError> {
        let buffer = self.memory.buffer(&self.loaded()?.plan, value)?;
        self.device
            .queue
            .write_buffer(buffer, 0, bytemuck::cast_slice(words));
        Ok(())
    }

    fn run<'a>(
        &'a mut self,
        program: Program,
        step: &'a Step,
    ) -> Local<'a, Result<(), EngineError>> {
        Box::pin(self.run_program(program, step))
    }

    fn request<'a>(
        &'a mut self,
        tag: u64,
        values: &'a [ValueId],
    ) -> Local<'a, Result<Vec<Readback>, EngineError>> {
        Box::pin(self.request_values(tag, values))
    }

    fn flush(&mut self) -> Local<'_, Result<Vec<Readback>, EngineError>> {
        Box::pin(async {
            let mut arrived = Vec::new();
            while let Some(readback) = self.take_oldest().await? {
                arrived.push(readback);
            }
            Ok(arrived)
        })
    }

    fn read(&mut self, value: ValueId) -> Local<'_, Result<Vec<u32>, EngineError>> {
        Box::pin(self.read_value(value))
    }

    fn ledger(&self) -> &Ledger {
        self.memory.ledger()
    }

    fn buffers_made(&self) -> (usize, u64) {
        self.memory.allocator().made.get()
    }

    fn driver_bytes(&self) -> Option<u64> {
        self.device
            .wgpu
            .generate_allocator_report()
            .map(|report| report.total_reserved_bytes)
    }
}

impl Drop for GpuEngine {
    fn drop(&mut self) {
        self.unload();
        self.memory.allocator().device.wgpu.destroy();
    }
}

fn ring_name(index: usize) -> String {
    format!("readback{index}")
}

/// Binds a launch: each tensor as far as its bytes go in the pool, and its block of numbers.
fn bind(
    device: &Device,
    memory: &Memory<GpuAllocator>,
    plan: &Plan,
    launch: &Launch,
    pipeline: Rc<Pipeline>,
    (params, offset): (&wgpu::Buffer, u64),
) -> Result<Bound, EngineError> {
    let label = Some(launch.kernel.name);
    let slice = |binding: usize, buffer, offset, bytes| wgpu::BindGroupEntry {
        binding: binding as u32,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset,
            size: wgpu::BufferSize::new(bytes),
        }),
    };
    let mut tensors = Vec::with_capacity(launch.bindings.len());
    for (index, bound) in launch.bindings.iter().enumerate() {
        let bytes = round_to_buffer(plan.graph[bound.value].bytes());
        let (offset, buffer) = (bound.offset_bytes, memory.buffer(plan, bound.value)?);
        tensors.push(slice(index, buffer, offset, bytes.saturating_sub(offset)));
    }
    let mut numbers = Vec::new();
    if !launch.kernel.params.is_empty() {
        numbers.push(slice(0, params, offset, PARAMS_BYTES as u64));
    }
    if launch.kernel.uses_step {
        numbers.push(slice(
            1,
            memory.fixture("step_numbers")?,
            0,
            BUFFER_ALIGNMENT,
        ));
    }
    let group = |layout, entries: &[wgpu::BindGroupEntry<'_>]| {
        device.wgpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout,
            entries,
        })
    };
    let tensors = group(&pipeline.tensors, &tensors);
    let numbers = group(&pipeline.numbers, &numbers);
    Ok(Bound {
        pipeline,
        tensors,
        numbers,
        groups: launch.groups,
        multiply_adds: launch.multiply_adds,
    })
}
