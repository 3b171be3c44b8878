//! What a run, or a plan without a run, has to say: the one source of every number that is printed, saved or drawn.
//!
//! The layout of the JSON is a stable contract; `schema` changes when a field changes its meaning.

mod build;
#[cfg(not(target_arch = "wasm32"))]
pub mod files;
mod layers;
pub mod palette;
#[cfg(not(target_arch = "wasm32"))]
mod picture;
pub mod table;

pub use build::{host, measure, plan_report};
pub use layers::{LayerReport, SeparableReport};

use crate::engine::EngineInfo;
use crate::experiment::Experiment;
use crate::graph::ByClass;
use crate::plan::{Moment, TensorInfo};
use serde::{Deserialize, Serialize};

/// Version of the report's layout.
pub const SCHEMA: u32 = 1;

/// The report of a run or, with the measured fields empty, of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The experiment with everything inherited and defaulted filled in.
    pub experiment: Experiment,
    /// What ran it; none for a plan.
    pub engine: Option<EngineInfo>,
    /// The network.
    pub model: ModelReport,
    /// Optimizer updates done.
    pub steps: usize,
    /// The loss over the run; none for a plan and before the first result.
    pub loss: Option<LossReport>,
    /// Measures on the test set.
    pub metrics: Metrics,
    /// Every measurement on the test set, in order; the last one is that of `metrics`.
    pub evaluations: Vec<Evaluation>,
    /// Text that was sampled from the trained model; none unless it was asked for.
    pub sample: Option<String>,
    /// Where the bytes are.
    pub memory: MemoryReport,
    /// How long it took; none for a plan.
    pub time: Option<TimeReport>,
}

/// The network in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReport {
    /// Trainable numbers, each counted once however often it is used.
    pub parameters: usize,
    /// Multiply-adds of one micro-batch, forward and backward, element-wise operations included.
    pub multiply_adds: u64,
    /// Multiply-adds of matrix products, convolutions and attention for one sample, forward: what papers state.
    pub forward_multiply_adds: u64,
    /// The layers with weights or multiply-adds, in order.
    pub layers: Vec<LayerReport>,
    /// Depthwise-separable convolutions beside the plain ones they stand for; empty where there are none.
    pub separable: Vec<SeparableReport>,
}

/// The loss over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossReport {
    /// Of the first update.
    pub first: f32,
    /// Of the last update.
    pub last: f32,
    /// (update, loss) of every update, the first numbered 0.
    pub curve: Vec<(usize, f32)>,
}

/// Measures on the test set; none until it has been evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Share of test samples whose class was right.
    pub test_accuracy: Option<f64>,
    /// Share of test samples whose class was among the five best guesses; none where there are not more classes.
    pub test_top5: Option<f64>,
    /// Mean cross-entropy on the test set, nats.
    pub test_loss: Option<f64>,
    /// Of a language model: the exponential of `test_loss`, among how many tokens it wavers as if all were as likely.
    pub test_perplexity: Option<f64>,
}

/// One measurement on the test set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Updates done by then.
    pub updates: usize,
    /// What was measured.
    #[serde(flatten)]
    pub metrics: Metrics,
}

/// A number of bytes as planned and as counted in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicted {
    /// From the plan.
    pub predicted: u64,
    /// From the engine's ledger; none for a plan.
    pub measured: Option<u64>,
}

/// Where the bytes of a step are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Most bytes in use at one moment.
    pub peak_bytes: Predicted,
    /// Bytes taken from the device.
    pub reserved_bytes: Predicted,
    /// The moment of the peak.
    pub at_peak: Moment,
    /// For each class the most bytes it takes at any moment; the classes need not peak together.
    pub peak_by_class: ByClass,
    /// Largest values and buffers at the peak.
    pub largest: Vec<TensorInfo>,
    /// Bytes by class while each node runs; measured for the programs that have run, else planned.
    pub timeline: Vec<Moment>,
    /// Device buffers that exist now; none for a plan.
    pub live_buffers: Option<usize>,
    /// Bytes the adapter's allocator reports, beyond our own buffers too; none where it does not tell.
    pub driver_bytes: Option<u64>,
    /// The part of `driver_bytes` that our own ledger does not explain; none where the adapter does not tell.
    pub unaccounted_bytes: Option<u64>,
    /// Memory of the host.
    pub host: HostReport,
}

/// Host memory. None means that it is not known here, never that it is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// Resident bytes of the process, as the operating system counts them.
    pub rss_bytes: Option<u64>,
    /// Bytes the program holds on its heap.
    pub heap_bytes: Option<u64>,
    /// In a browser: the linear memory WebAssembly has reserved. It cannot shrink.
    pub wasm_reserved_bytes: Option<u64>,
    /// Samples held in memory.
    pub dataset_bytes: Option<u64>,
    /// The batch being prepared.
    pub prefetch_bytes: Option<u64>,
}

/// How long a run took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeReport {
    /// Wall time of one optimizer update, milliseconds.
    pub step_millis: StepMillis,
    /// Samples per second over the run.
    pub samples_per_second: f64,
    /// Share of the time the host spent making batches; without prefetching the device may wait that long.
    pub data_wait_fraction: f64,
}

/// Wall time of one optimizer update, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepMillis {
    /// Half of the updates took less.
    pub median: f64,
    /// The quickest.
    pub min: f64,
    /// The slowest; the first one compiles the kernels.
    pub max: f64,
}
