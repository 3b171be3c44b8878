//! Table of the largest tensors and buffers at the peak.

use super::theme::{self, exact};
use crate::graph::CLASSES;
use crate::report::Report;
use crate::units::Bytes;
use egui::{Grid, RichText, ScrollArea, Ui};

/// Name, class, shape, number format and bytes of each.
pub(super) fn show(ui: &mut Ui, report: &Report) {
    ScrollArea::horizontal().id_salt("tensors").show(ui, |ui| {
        Grid::new("largest tensors")
            .num_columns(5)
            .striped(true)
            .spacing([18.0, 3.0])
            .show(ui, |ui| {
                for title in ["tensor", "class", "shape", "format", "bytes"] {
                    ui.label(RichText::new(title).small().weak());
                }
                ui.end_row();
                for tensor in &report.memory.largest {
                    ui.monospace(&tensor.name);
                    ui.horizontal(|ui| {
                        if let Some(class) = CLASSES.into_iter().find(|c| c.name() == tensor.class)
                        {
                            theme::swatch(ui, class);
                        }
                        ui.label(&tensor.class);
                    });
                    let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
                    ui.label(shape.join(" × "));
                    ui.label(&tensor.dtype);
                    ui.label(Bytes(tensor.bytes).to_string())
                        .on_hover_text(exact(tensor.bytes));
                    ui.end_row();
                }
            });
    });
}
