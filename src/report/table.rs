//! The report as a table for people.

use super::{Predicted, Report};
use crate::units::Bytes;
use std::fmt::Write as _;

/// The table that a run, or a plan, ends with. `planned` is the plan's report of the same experiment, and `report` itself
/// for a plan: a run's report holds the bytes of each class as they were measured.
pub fn table(report: &Report, planned: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = heading(report, &mut text)
        .and_then(|()| bytes_at_peak(report, planned, &mut text))
        .and_then(|()| largest(report, &mut text))
        .and_then(|()| beside(report, &mut text))
        .and_then(|()| results(report, &mut text));
    text
}

/// The layers with their weights and multiply-adds, and what depthwise-separable ones save.
pub fn layers(report: &Report) -> String {
    let model = &report.model;
    let mut text = format!(
        "Layers, for one sample forward: {} parameters, {} multiply-adds\n  {:<32} {:>12} {:>14}  output\n",
        model.parameters, model.forward_multiply_adds, "layer", "parameters", "multiply-adds"
    );
    for layer in &model.layers {
        let sides: Vec<String> = layer.output.iter().map(ToString::to_string).collect();
        let shared = match layer.shared_parameters {
            0 => String::new(),
            n => format!("  (uses {n} shared parameters, counted above)"),
        };
        let _ = writeln!(
            text,
            "  {:<32} {:>12} {:>14}  {}{shared}",
            layer.name,
            layer.parameters,
            layer.multiply_adds,
            sides.join(" x ")
        );
    }
    if !model.separable.is_empty() {
        let _ = writeln!(
            text,
            "\nDepthwise-separable layers beside plain convolutions (by the paper: 1/N + 1/K²)\n  {:<32} {:>14} {:>14} {:>9} {:>11}",
            "layer", "separable", "plain", "ratio", "1/N + 1/K²"
        );
    }
    for pair in &model.separable {
        let _ = writeln!(
            text,
            "  {:<32} {:>14} {:>14} {:>9.6} {:>11.6}",
            pair.name, pair.multiply_adds, pair.plain_multiply_adds, pair.ratio, pair.formula
        );
    }
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

fn heading(report: &Report, text: &mut String) -> std::fmt::Result {
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
    )
}

/// The classes at the peak and the totals, each with what was predicted and what was measured.
fn bytes_at_peak(report: &Report, planned: &Report, text: &mut String) -> std::fmt::Result {
    let memory = &report.memory;
    let has_run = memory.peak_bytes.measured.is_some();
    let peak = &memory.at_peak;
    writeln!(
        text,
        "\nBytes at the peak, which stands at node \"{}\" in the {} phase ({}):\n",
        peak.node,
        peak.phase.name(),
        peak.program.name()
    )?;
    let measured = if has_run { "measured" } else { "" };
    let header = format!("  {:<24} {:>12}  {measured:>12}", "", "predicted");
    writeln!(text, "{}", header.trim_end())?;
    for (class, bytes) in peak.by_class.iter() {
        let pair = Predicted {
            predicted: planned.memory.at_peak.by_class.get(class),
            measured: has_run.then_some(bytes),
        };
        if (pair.predicted, bytes) != (0, 0) {
            line(text, class.name(), pair)?;
        }
    }
    line(text, "peak in use", memory.peak_bytes)?;
    line(text, "reserved (with cached)", memory.reserved_bytes)?;
    writeln!(
        text,
        "  Every buffer is rounded up to a multiple of 256 bytes, in the plan and in the run."
    )
}

fn largest(report: &Report, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\nLargest values at the peak:")?;
    for tensor in report.memory.largest.iter().take(8) {
        let sides = tensor.shape.iter().map(ToString::to_string);
        let shape = sides.collect::<Vec<_>>().join(" x ");
        writeln!(
            text,
            "  {:<30} {:<16} {:<5} {shape:<14} {:>12}",
            tensor.name,
            tensor.class,
            tensor.dtype,
            Bytes(tensor.bytes)
        )?;
    }
    Ok(())
}

/// What other counters say, which is in none of the sums above.
fn beside(report: &Report, text: &mut String) -> std::fmt::Result {
    let planned = report.memory.peak_bytes.measured.is_none();
    let (driver, host) = (report.memory.driver_bytes, &report.memory.host);
    writeln!(text, "\nBeside these, not in them:")?;
    unknown_or(text, "adapter's allocator", driver, planned)?;
    let unaccounted = report.memory.unaccounted_bytes;
    unknown_or(text, "of that, unaccounted for", unaccounted, planned)?;
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
    Ok(())
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
    if let Some(loss) = report.metrics.test_loss {
        let metrics = &report.metrics;
        write!(text, "Test set: ")?;
        for (name, value) in [
            ("accuracy", metrics.test_accuracy),
            ("top-5", metrics.test_top5),
            ("perplexity", metrics.test_perplexity),
        ] {
            if let Some(value) = value {
                write!(text, "{name} {value:.4}, ")?;
            }
        }
        writeln!(text, "loss {loss:.4}")?;
    }
    if let Some(sample) = &report.sample {
        writeln!(text, "\nSampled text:\n{sample}\n")?;
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
    let measured = bytes.measured.map(|m| m.to_string()).unwrap_or_default();
    let shown = Bytes(bytes.measured.unwrap_or(bytes.predicted));
    let note = match bytes.measured {
        Some(measured) if measured != bytes.predicted => ", not as predicted",
        _ => "",
    };
    writeln!(
        text,
        "  {name:<24} {:>12}  {measured:>12}  {shown:>10}{note}",
        bytes.predicted
    )
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
