//! The kernels that ran, and the text of each as the driver got it.

use super::wgsl;
use crate::engine::kernel::{KERNELS, Kernel};
use crate::report::Report;
use egui::{Frame, Margin, Panel, RichText, ScrollArea, Ui};

/// Which kernel and which of its texts is open.
#[derive(Default)]
pub(super) struct KernelView {
    open: Option<&'static str>,
    source_file: bool,
}

impl KernelView {
    /// List of kernels on the left, the open one on the right.
    pub(super) fn show(&mut self, ui: &mut Ui, report: Option<&Report>) {
        let engine = report.and_then(|r| r.engine.as_ref());
        let ran: &[String] = engine.map_or(&[], |e| e.kernels.as_slice());
        let has_run = |kernel: &Kernel| ran.iter().any(|name| name == kernel.name);
        if self.open.is_none() {
            self.open = KERNELS
                .iter()
                .find(|k| has_run(k))
                .or(KERNELS.first())
                .map(|k| k.name);
        }
        Panel::left("kernel list")
            .default_size(190.0)
            .size_range(120.0..=300.0)
            .show(ui, |ui| {
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    ui.label(RichText::new("Kernels that ran").strong());
                    if ran.is_empty() {
                        ui.weak("None yet: press Start.");
                    }
                    KERNELS
                        .iter()
                        .filter(|k| has_run(k))
                        .for_each(|k| self.entry(ui, k));
                    ui.add_space(8.0);
                    ui.label(RichText::new("Other kernels").strong());
                    KERNELS
                        .iter()
                        .filter(|k| !has_run(k))
                        .for_each(|k| self.entry(ui, k));
                });
            });
        let open = KERNELS.iter().find(|k| Some(k.name) == self.open);
        if let Some(kernel) = open {
            let on_host = engine.is_some_and(|e| e.kind == "cpu");
            let frame = Frame::new().inner_margin(Margin {
                left: 10,
                ..Margin::ZERO
            });
            frame.show(ui, |ui| self.text(ui, kernel, has_run(kernel), on_host));
        }
    }

    fn entry(&mut self, ui: &mut Ui, kernel: &'static Kernel) {
        let is_open = self.open == Some(kernel.name);
        if ui
            .selectable_label(is_open, RichText::new(kernel.name).monospace())
            .clicked()
        {
            self.open = Some(kernel.name);
        }
    }

    fn text(&mut self, ui: &mut Ui, kernel: &Kernel, has_run: bool, on_host: bool) {
        ui.horizontal_wrapped(|ui| {
            ui.heading(kernel.name);
            let [x, y, z] = kernel.workgroup;
            ui.weak(format!(
                "{x} × {y} × {z} invocations in a workgroup, {} bytes of workgroup memory",
                kernel.workgroup_bytes
            ));
        });
        ui.horizontal_wrapped(|ui| {
            let what_ran = if has_run && !on_host {
                "What ran"
            } else {
                "What would run"
            };
            ui.selectable_value(&mut self.source_file, false, what_ran)
                .on_hover_text("The text given to the driver: imports and variants are resolved.");
            ui.selectable_value(&mut self.source_file, true, "Source file")
                .on_hover_text("The file in shaders/, before imports and variants are resolved.");
            ui.weak(format!("shaders/{}.wgsl", kernel.stem));
        });
        if on_host {
            ui.weak("The CPU engine is in use: it runs the twin of this kernel, plain loops in Rust. A device would run this text.");
        }
        let text = if self.source_file {
            kernel.source
        } else {
            kernel.wgsl
        };
        ScrollArea::both()
            .id_salt((kernel.name, self.source_file))
            .auto_shrink(false)
            .show(ui, |ui| {
                let job = wgsl::highlighted(ui, text);
                ui.add(egui::Label::new(job).extend().selectable(true));
            });
    }
}
