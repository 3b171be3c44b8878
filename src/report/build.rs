//! Fills in reports: from a plan, and with what an engine's ledger has counted.

use super::{HostReport, MemoryReport, Metrics, ModelReport, Predicted, Report, SCHEMA, layers};
use crate::data::Split;
use crate::engine::Engine;
use crate::experiment::Experiment;
use crate::graph::Program;
use crate::step::StepPlan;
use peak_alloc::PeakAlloc;

/// Counts the bytes of the heap, which no operating system tells a browser page.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// How many of the largest values a report lists.
const N_LARGEST: usize = 20;

/// The report of a plan: everything predicted, nothing measured.
pub fn plan_report(experiment: &Experiment, step: &StepPlan) -> Report {
    let plan = &step.plan;
    let accumulate = plan.graph.program(Program::Accumulate);
    let batch_bytes = plan.graph[step.features].bytes() + plan.graph[step.labels].bytes();
    let layers = layers::layers(&plan.graph, step.micro_rows);
    Report {
        schema: SCHEMA,
        experiment: experiment.clone(),
        engine: None,
        model: ModelReport {
            parameters: plan.graph.n_params(),
            multiply_adds: accumulate
                .map(|(_, node)| plan.graph.multiply_adds(node))
                .sum(),
            forward_multiply_adds: layers.iter().map(|layer| layer.multiply_adds).sum(),
            separable: layers::separable(&plan.graph, step.micro_rows),
            layers,
        },
        steps: 0,
        loss: None,
        metrics: Metrics::default(),
        evaluations: Vec::new(),
        sample: None,
        memory: MemoryReport {
            peak_bytes: Predicted {
                predicted: plan.peak_bytes(),
                measured: None,
            },
            reserved_bytes: Predicted {
                predicted: plan.reserved_bytes(),
                measured: None,
            },
            at_peak: plan.peak(),
            peak_by_class: plan.peak_by_class(),
            largest: plan.largest(N_LARGEST),
            timeline: plan.timeline(),
            live_buffers: None,
            driver_bytes: None,
            unaccounted_bytes: None,
            host: HostReport {
                prefetch_bytes: Some(batch_bytes),
                ..host(None, 0)
            },
        },
        time: None,
    }
}

/// Puts what an engine has counted beside what was predicted. Nothing changes before the first node has run.
pub fn measure(memory: &mut MemoryReport, engine: &dyn Engine) {
    let ledger = engine.ledger();
    memory.live_buffers = Some(ledger.live_buffers());
    memory.driver_bytes = engine.driver_bytes();
    let reserved = ledger.now().reserved();
    memory.unaccounted_bytes = memory
        .driver_bytes
        .map(|bytes| bytes.saturating_sub(reserved));
    memory.reserved_bytes.measured = Some(reserved);
    if let Some(peak) = ledger.peak() {
        memory.peak_bytes.measured = Some(peak.by_class.allocated());
        memory.at_peak = peak.clone();
        memory.peak_by_class = *ledger.peak_by_class();
        // A program that has not run yet keeps its plan, so that the picture of a step is whole from the start.
        let measured = ledger.moments();
        let has_run = |program| measured.iter().any(|m| m.program == program);
        memory.timeline.retain(|moment| !has_run(moment.program));
        memory.timeline.extend(measured.iter().cloned());
        memory.timeline.sort_by_key(|moment| moment.program);
    }
}

/// The host's memory; `split` and `prefetch_bytes` are what a training holds.
pub fn host(split: Option<&Split>, prefetch_bytes: u64) -> HostReport {
    HostReport {
        rss_bytes: rss_bytes(),
        heap_bytes: Some(HEAP.current_usage() as u64),
        wasm_reserved_bytes: wasm_reserved_bytes(),
        dataset_bytes: split.map(Split::bytes),
        prefetch_bytes: split.map(|_| prefetch_bytes),
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn rss_bytes() -> Option<u64> {
    memory_stats::memory_stats().map(|stats| stats.physical_mem as u64)
}

#[cfg(target_arch = "wasm32")]
fn rss_bytes() -> Option<u64> {
    None
}

#[cfg(not(target_arch = "wasm32"))]
fn wasm_reserved_bytes() -> Option<u64> {
    None
}

#[cfg(target_arch = "wasm32")]
fn wasm_reserved_bytes() -> Option<u64> {
    /// Bytes of a page of WebAssembly memory.
    const PAGE_BYTES: u64 = 65536;
    Some(core::arch::wasm32::memory_size::<0>() as u64 * PAGE_BYTES)
}
