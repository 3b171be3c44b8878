//! The report as a table for people.

use super::{Predicted, Report};
use crate::units::Bytes;
use std::fmt::Write as _;

/// The table that a run, or a plan, ends with.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_table(report, &mut text);
    text
}

/// Every node with the bytes in use while it runs and what makes the difference to the node before.
pub fn timeline(report: &Report) -> String {
    let mut text = String::from("program     phase     in use        change       node\n");
    let mut before = None;
    for moment in &report.memory.timeline {
        let now = moment.by_class.allocated();
        let change = match before {
            Some(earlier) if now >= earlier => format!("+{}", Bytes(now - earlier)),
            Some(earlier) => format!("-{}", Bytes(earlier - now)),
            None => String::new(),
        };
        before = Some(now);
        let (program, phase) = (moment.program.name(), moment.phase.name());
        let _ = writeln!(
            text,
            "{program:<11} {phase:<9} {:<13} {change:<12} {}",
            Bytes(now),
            moment.node
        );
    }
    text
}

fn write_table(report: &Report, text: &mut String) -> std::fmt::Result {
    let memory = &report.memory;
    let planned = memory.peak_bytes.measured.is_none();
    let peak = &memory.at_peak;
    writeln!(text, "{}", report.experiment.name)?;
    match &report.engine {
        Some(engine) => writeln!(
            text,
            "Engine: {} on {} ({})",
            engine.kind, engine.adapter, engine.backend
        )?,
        None => writeln!(
            text,
            "A plan for training: nothing has run, every number is predicted."
        )?,
    }
    writeln!(text, "Parameters: {}", report.model.parameters)?;
    writeln!(
        text,
        "Multiply-adds of a micro-batch, forward and backward: {}",
        report.model.multiply_adds
    )?;
    writeln!(text)?;
    writeln!(
        text,
        "Bytes at the peak, which stands at node \"{}\" in the {} phase ({}):",
        peak.node,
        peak.phase.name(),
        peak.program.name()
    )?;
    for (class, bytes) in peak.by_class.iter().filter(|(_, b)| *b > 0) {
        writeln!(
            text,
            "  {:<24} {bytes:>14}  {:>12}",
            class.name(),
            Bytes(bytes).to_string()
        )?;
    }
    writeln!(text)?;
    writeln!(
        text,
        "  {:<24} {:>14}  {:>14}",
        "",
        "predicted",
        if planned { "" } else { "measured" }
    )?;
    line(text, "peak in use", memory.peak_bytes)?;
    line(text, "reserved (with cached)", memory.reserved_bytes)?;
    writeln!(
        text,
        "  Every buffer is rounded up to a multiple of 256 bytes, in the plan and in the run."
    )?;
    writeln!(text)?;
    writeln!(text, "Largest values at the peak:")?;
    for tensor in memory.largest.iter().take(8) {
        let shape = tensor
            .shape
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" x ");
        writeln!(
            text,
            "  {:<28} {:<16} {:<5} {shape:<14} {:>12}",
            tensor.name,
            tensor.class,
            tensor.dtype,
            Bytes(tensor.bytes)
        )?;
    }
    writeln!(text)?;
    writeln!(text, "Beside these, not in them:")?;
    let host = &memory.host;
    unknown_or(text, "adapter's allocator", memory.driver_bytes, planned)?;
    unknown_or(text, "host: data set", host.dataset_bytes, planned)?;
    unknown_or(
        text,
        "host: batch in the making",
        host.prefetch_bytes,
        false,
    )?;
    unknown_or(text, "host: heap of the program", host.heap_bytes, false)?;
    unknown_or(text, "host: resident process", host.rss_bytes, false)?;
    if let Some(reserved) = host.wasm_reserved_bytes {
        unknown_or(
            text,
            "host: reserved by wasm (cannot shrink)",
            Some(reserved),
            false,
        )?;
    }
    results(report, text)
}

fn results(report: &Report, text: &mut String) -> std::fmt::Result {
    if let Some(loss) = &report.loss {
        writeln!(text)?;
        writeln!(
            text,
            "Loss: {:.4} at the first update, {:.4} at the last of {}",
            loss.first, loss.last, report.steps
        )?;
    }
    if let (Some(accuracy), Some(loss)) = (report.metrics.test_accuracy, report.metrics.test_loss) {
        writeln!(text, "Test set: accuracy {accuracy:.4}, loss {loss:.4}")?;
    }
    if let Some(time) = &report.time {
        let millis = &time.step_millis;
        writeln!(
            text,
            "Time of an update: median {:.1} ms, {:.1} to {:.1} ms; {:.0} samples/s; {:.1} % of it spent making batches",
            millis.median,
            millis.min,
            millis.max,
            time.samples_per_second,
            100.0 * time.data_wait_fraction
        )?;
    }
    Ok(())
}

fn line(text: &mut String, name: &str, bytes: Predicted) -> std::fmt::Result {
    write!(text, "  {name:<24} {:>14}", bytes.predicted)?;
    match bytes.measured {
        Some(measured) if measured == bytes.predicted => {
            writeln!(text, "  {measured:>14}  {}", Bytes(measured))
        }
        Some(measured) => writeln!(
            text,
            "  {measured:>14}  {}, not as predicted",
            Bytes(measured)
        ),
        None => writeln!(text, "  {:>14}  {}", "", Bytes(bytes.predicted)),
    }
}

/// What is not known is said to be so, and never printed as 0.
fn unknown_or(
    text: &mut String,
    name: &str,
    bytes: Option<u64>,
    planned: bool,
) -> std::fmt::Result {
    let value = match bytes {
        Some(bytes) => Bytes(bytes).to_string(),
        None if planned => "known when it runs".into(),
        None => "unknown here".into(),
    };
    writeln!(text, "  {name:<40} {value:>18}")
}
