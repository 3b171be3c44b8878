//! Engines run plans: on a device through WebGPU, or on the host with the kernels' twins.

pub mod cpu;
pub mod gpu;
pub mod kernel;
mod ledger;
mod lower;
mod memory;

pub use kernel::{IGNORE, Step};
pub use ledger::{Ledger, OutOfMemory};
pub use lower::{Binding, Launch, Tier, launches};

use crate::graph::{Program, ValueId};
use crate::plan::{LimitError, Plan};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A future that need not be sent to another thread: an engine stays on the one it was made on.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Which engine a user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The device where there is one, else the CPU.
    #[default]
    Auto,
    /// The device, or an error.
    Gpu,
    /// The twins on the host.
    Cpu,
}

/// What an engine is, for the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// `gpu` or `cpu`.
    pub kind: String,
    /// Name of the adapter.
    pub adapter: String,
    /// `vulkan`, `metal`, `dx12`, `browser-webgpu`, or `host` for the CPU engine.
    pub backend: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub device_type: String,
    /// Driver and its version, where it tells.
    pub driver: String,
    /// Optional features of the adapter that matter here.
    pub features: Vec<String>,
    /// Kernels launched so far, by name.
    pub kernels: Vec<String>,
}

/// An engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no adapter that can compute.
    #[error(
        "no usable graphics adapter: {reason}. Use --engine cpu, or install a driver (on Linux without a graphics card: mesa-vulkan-drivers)"
    )]
    NoAdapter {
        /// What was tried.
        reason: String,
    },
    /// The device has not the memory, or the budget does not allow it.
    #[error(transparent)]
    OutOfMemory(#[from] Box<OutOfMemory>),
    /// The device has no memory left, and said so only after the buffer had been made, as browsers do.
    #[error(
        "out of memory: the graphics device has no memory left for this training. Use a smaller batch, more micro-batches (techniques.accumulate), a narrower network, or --engine cpu"
    )]
    DeviceOutOfMemory,
    /// A value is larger than the device can bind.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The device is gone: a driver reset, a sleep, an unplugged card.
    #[error(
        "the graphics device was lost ({reason}); the weights on it are gone. Start again; if it happens again, use a smaller batch or --engine cpu"
    )]
    DeviceLost {
        /// What the driver said.
        reason: String,
    },
    /// The device did not answer in time.
    #[error(
        "the graphics device did not answer within {seconds} seconds; its driver may be stuck. Start again with a smaller batch, or use --engine cpu"
    )]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// A defect of Headroom: a launch that WebGPU or a kernel refuses.
    #[error("a defect in Headroom, please report it: {0}")]
    Validation(String),
    /// A launch does not fit its kernel.
    #[error("a defect in Headroom, please report it: {0}")]
    Kernel(#[from] kernel::KernelError),
    /// A program was run before a plan was loaded, or a value is not in it.
    #[error("a defect in Headroom, please report it: {0} is not in the loaded plan")]
    NotLoaded(String),
}

/// Results read back from the device, in the order they were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Readback {
    /// What the asker called it.
    pub tag: u64,
    /// The words of each value, one after another.
    pub words: Vec<u32>,
}

/// Something that runs plans.
///
/// The order of calls is `load`, then for each value that does not start at zero `upload`, then `run`. Everything is
/// ordered: an upload or a readback asked for after a run sees its result.
pub trait Engine {
    /// What it is.
    fn info(&self) -> EngineInfo;

    /// Takes the buffers that a plan keeps from step to step, zeroed. Frees those of an earlier plan first.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`], [`EngineError::Limit`].
    fn load(&mut self, plan: Arc<Plan>, budget: Option<u64>) -> Result<(), EngineError>;

    /// Changes the budget of the loaded plan. What is taken already stays; a run that finds more taken than allowed is
    /// refused.
    fn set_budget(&mut self, budget: Option<u64>);

    /// Frees every buffer of the loaded plan.
    fn unload(&mut self);

    /// Writes the words of a persistent value.
    ///
    /// # Errors
    /// [`EngineError::NotLoaded`].
    fn upload(&mut self, value: ValueId, words: &[u32]) -> Result<(), EngineError>;

    /// Runs a program once. Takes the slots it needs as it goes; nothing has run if there is no memory for one.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`], [`EngineError::DeviceLost`], [`EngineError::Validation`].
    fn run<'a>(
        &'a mut self,
        program: Program,
        step: &'a Step,
    ) -> Local<'a, Result<(), EngineError>>;

    /// Asks for small values (at most 256 bytes together) without waiting for them. Gives back results of earlier calls
    /// that have arrived; waits only when the whole ring of readback buffers is in flight.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::Timeout`].
    fn request<'a>(
        &'a mut self,
        tag: u64,
        values: &'a [ValueId],
    ) -> Local<'a, Result<Vec<Readback>, EngineError>>;

    /// Waits for all results still in flight.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::Timeout`].
    fn flush(&mut self) -> Local<'_, Result<Vec<Readback>, EngineError>>;

    /// Reads all words of a persistent value; waits for them.
    ///
    /// # Errors
    /// [`EngineError::NotLoaded`], [`EngineError::OutOfMemory`], [`EngineError::DeviceLost`].
    fn read(&mut self, value: ValueId) -> Local<'_, Result<Vec<u32>, EngineError>>;

    /// What has been allocated, by class, and what the last run of each node looked like.
    fn ledger(&self) -> &Ledger;

    /// Buffers and bytes that have been made and not destroyed, counted where that happens and apart from the ledger.
    fn buffers_made(&self) -> (usize, u64);

    /// Bytes the adapter's own allocator reports, where it does.
    fn driver_bytes(&self) -> Option<u64>;
}

/// Makes the engine a user asked for. Gives a sentence too where [`EngineChoice::Auto`] had to fall back to the CPU.
///
/// # Errors
/// [`EngineError::NoAdapter`] if the device was asked for and there is none.
pub async fn open(choice: EngineChoice) -> Result<(Box<dyn Engine>, Option<String>), EngineError> {
    match choice {
        EngineChoice::Cpu => Ok((Box::new(cpu::CpuEngine::new()), None)),
        EngineChoice::Gpu => Ok((Box::new(gpu::GpuEngine::open().await?), None)),
        EngineChoice::Auto => match gpu::GpuEngine::open().await {
            Ok(engine) => Ok((Box::new(engine), None)),
            Err(EngineError::NoAdapter { reason }) => {
                let notice = format!(
                    "No usable graphics adapter ({reason}): training runs on the CPU engine, which computes the same numbers with plain loops."
                );
                Ok((Box::new(cpu::CpuEngine::new()), Some(notice)))
            }
            Err(error) => Err(error),
        },
    }
}
