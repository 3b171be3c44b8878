//! The numbers of a run: predicted beside measured, time, accuracy, host memory. Each is a field of the report.

use super::theme::grouped;
use crate::report::{Predicted, Report};
use crate::units::Bytes;
use egui::{Grid, Label, RichText, Ui};

/// What is shown for a number nobody here can tell.
const UNKNOWN: &str = "unknown here";

/// Peak and reserved bytes, predicted and measured, and what else the device holds.
pub(super) fn device(ui: &mut Ui, report: &Report) {
    let memory = &report.memory;
    Grid::new("totals").num_columns(3).min_col_width(0.0).spacing([16.0, 4.0]).show(ui, |ui| {
        for title in ["", "predicted", "measured"] {
            ui.label(RichText::new(title).small().weak());
        }
        ui.end_row();
        let peak = "Most bytes in use at one moment: all classes but cached.";
        predicted(ui, "Peak in use", peak, memory.peak_bytes);
        let reserved = "Bytes taken from the device, those the pool holds ready included. Drivers may round each buffer up further; that is not counted here.";
        predicted(ui, "Reserved", reserved, memory.reserved_bytes);
    });
    verdict(ui, &[memory.peak_bytes, memory.reserved_bytes]);
    let at = &memory.at_peak;
    row(
        ui,
        "Peak stands at",
        &format!("{} ({}, {})", at.node, at.phase.name(), at.program.name()),
        "The node that runs when most bytes are in use.",
    );
    let driver = "What the adapter's own allocator reports. It includes memory that is not ours.";
    row(
        ui,
        "Driver reports",
        &bytes_or_unknown(memory.driver_bytes),
        driver,
    );
    row(
        ui,
        "Unaccounted",
        &bytes_or_unknown(memory.unaccounted_bytes),
        "What the adapter's allocator has taken beyond our own buffers: compiled kernels, padding, blocks kept for later.",
    );
    let buffers = memory
        .live_buffers
        .map_or_else(|| String::from("none before a run"), |n| grouped(n as u64));
    row(
        ui,
        "Live buffers",
        &buffers,
        "Device buffers that exist now.",
    );
}

/// The size of the network.
pub(super) fn network(ui: &mut Ui, report: &Report) {
    let parameters = grouped(report.model.parameters as u64);
    row(
        ui,
        "Parameters",
        &parameters,
        "Trainable numbers of the network.",
    );
    let operations = grouped(report.model.multiply_adds);
    row(
        ui,
        "Multiply-adds",
        &operations,
        "Of one micro-batch, forward and backward.",
    );
}

/// What is measured on held-out samples of this kind: names, values and what they mean.
fn metrics(report: &Report) -> Vec<(&'static str, Option<f64>, &'static str)> {
    let measured = &report.metrics;
    let loss = "Mean cross-entropy on held-out samples, in nats.";
    let mut all = vec![("Test loss", measured.test_loss, loss)];
    if report.experiment.model.context().is_some() {
        let hint = "The exponential of the test loss: among how many tokens the model wavers as if all were as likely.";
        all.insert(0, ("Perplexity", measured.test_perplexity, hint));
        return all;
    }
    let hint = "Share of test samples whose class was right.";
    all.insert(0, ("Test accuracy", measured.test_accuracy, hint));
    if measured.test_top5.is_some() {
        let hint = "Share of test samples whose class was among the five best guesses.";
        all.insert(1, ("Top-5 accuracy", measured.test_top5, hint));
    }
    all
}

/// Loss, accuracy and time of the run so far.
pub(super) fn run(ui: &mut Ui, report: &Report) {
    let not_yet = "not measured yet";
    let loss = report.loss.as_ref().map_or_else(
        || not_yet.into(),
        |l| format!("{:.4} (first {:.4})", l.last, l.first),
    );
    row(
        ui,
        "Loss",
        &loss,
        "Mean cross-entropy of the last update, in nats.",
    );
    for (name, value, hint) in metrics(report) {
        let value = value.map_or_else(|| not_yet.into(), |value| format!("{value:.4}"));
        row(ui, name, &value, hint);
    }
    let Some(time) = &report.time else {
        row(
            ui,
            "Step time",
            not_yet,
            "Wall time of one optimizer update.",
        );
        return;
    };
    let step = &time.step_millis;
    let extremes = format!(
        "Quickest {:.2} ms, slowest {:.2} ms; the first compiles the kernels.",
        step.min, step.max
    );
    row(
        ui,
        "Step time",
        &format!("{:.2} ms (median)", step.median),
        &extremes,
    );
    row(
        ui,
        "Speed",
        &format!("{:.0} samples/s", time.samples_per_second),
        "Over the whole run.",
    );
    let wait = format!("{:.1} % of the time", 100.0 * time.data_wait_fraction);
    row(
        ui,
        "Making batches",
        &wait,
        "Share of the time in which the host made batches. Without prefetching the device may wait that long.",
    );
}

/// Memory of the host.
pub(super) fn host(ui: &mut Ui, report: &Report) {
    let host = &report.memory.host;
    row(
        ui,
        "Process (RSS)",
        &bytes_or_unknown(host.rss_bytes),
        "Resident bytes of the process, as the operating system counts them.",
    );
    row(
        ui,
        "Heap",
        &bytes_or_unknown(host.heap_bytes),
        "Bytes the program holds on its heap.",
    );
    row(
        ui,
        "Dataset",
        &bytes_or_unknown(host.dataset_bytes),
        "Samples held in memory.",
    );
    row(
        ui,
        "Batch being prepared",
        &bytes_or_unknown(host.prefetch_bytes),
        "Host memory of the next batch.",
    );
    let wasm = "The linear memory WebAssembly has reserved in this tab.";
    row(
        ui,
        "WebAssembly",
        &bytes_or_unknown(host.wasm_reserved_bytes),
        wasm,
    );
    if host.wasm_reserved_bytes.is_some() {
        ui.weak("WebAssembly memory cannot shrink; reload the page to give it back.");
    }
}

fn predicted(ui: &mut Ui, name: &str, explanation: &str, number: Predicted) {
    ui.label(name).on_hover_text(explanation);
    amount(ui, number.predicted);
    match number.measured {
        None => {
            ui.weak("after Start");
        }
        Some(measured) => amount(ui, measured),
    }
    ui.end_row();
}

/// Says whether the prediction held.
fn verdict(ui: &mut Ui, numbers: &[Predicted]) {
    if numbers.iter().any(|number| number.measured.is_none()) {
        return;
    }
    if numbers
        .iter()
        .all(|number| number.measured == Some(number.predicted))
    {
        ui.label(RichText::new("Measured and predicted are equal to the byte.").small());
    } else {
        let color = ui.visuals().error_fg_color;
        ui.label(
            RichText::new(
                "Measured and predicted differ. This is a defect of Headroom; please report it.",
            )
            .small()
            .color(color),
        );
    }
}

/// Bytes as a person reads them, and below to the last one.
fn amount(ui: &mut Ui, bytes: u64) {
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.add(Label::new(Bytes(bytes).to_string()).extend());
        ui.add(
            Label::new(
                RichText::new(format!("{} bytes", grouped(bytes)))
                    .small()
                    .weak(),
            )
            .extend(),
        );
    });
}

fn row(ui: &mut Ui, name: &str, value: &str, explanation: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label(RichText::new(name).weak())
            .on_hover_text(explanation);
        ui.label(value).on_hover_text(explanation);
    });
}

fn bytes_or_unknown(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| UNKNOWN.into(), |bytes| Bytes(bytes).to_string())
}
