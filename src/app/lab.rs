//! The lab: start and stop the training, see its memory, its loss and its largest tensors.

use super::control::Control;
use super::data_source::DataSource;
use super::sample::Sample;
use super::settings::Settings;
use super::{classes, curve, tensors, theme, timeline, totals};
use crate::report::Report;
use crate::train::{SessionState, Status};
use egui::{Button, ProgressBar, RichText, ScrollArea, Ui, vec2};

/// The least width of a card.
const CARD_POINTS: f32 = 300.0;
const PLOT_POINTS: f32 = 190.0;

/// What the lab remembers from frame to frame.
#[derive(Default)]
pub(super) struct Lab {
    settings: Settings,
    data: DataSource,
    sample: Sample,
    /// The node of the timeline that the arrow keys stand on.
    node: Option<usize>,
}

impl Lab {
    /// Draws the lab for `state`.
    pub(super) fn show(&mut self, ui: &mut Ui, control: &Control, state: &SessionState) {
        buttons(ui, control, state);
        self.settings.show(ui, control, state);
        self.data.show(ui, control);
        ui.horizontal_wrapped(|ui| {
            engine(ui, state.report.as_deref());
            ui.label(RichText::new(Settings::hint(state)).small().weak());
        });
        ScrollArea::vertical()
            .id_salt("lab")
            .auto_shrink(false)
            .show(ui, |ui| {
                // Room for the scroll bar, which floats above the contents.
                ui.set_max_width(ui.available_width() - 12.0);
                if let Some(message) = &state.message {
                    let title = match state.status {
                        Status::Failed => {
                            "Training has stopped. Change a setting or press Reset to go on."
                        }
                        Status::Paused => {
                            "Training is paused: it ran out of memory. Nothing is lost; raise the budget and start again to go on."
                        }
                        _ => "This experiment cannot be trained.",
                    };
                    theme::message(ui, title, message, theme::alert_color(ui));
                }
                if let Some(notice) = &state.notice {
                    theme::message(ui, "Please note", notice, ui.visuals().warn_fg_color);
                }
                if let Some(report) = state.report.as_deref() {
                    self.report(ui, control, state, report);
                }
            });
    }

    fn report(&mut self, ui: &mut Ui, control: &Control, state: &SessionState, report: &Report) {
        let measured = report.memory.peak_bytes.measured.is_some();
        let source = if measured {
            "as the engine measured it"
        } else {
            "as planned, before anything has run"
        };
        theme::card(
            ui,
            &format!("Memory during one training step, {source}"),
            |ui| {
                let height = (ui.ctx().content_rect().height() * 0.27).clamp(150.0, 300.0);
                timeline::show(
                    ui,
                    report,
                    report.experiment.memory.budget,
                    height,
                    &mut self.node,
                );
                timeline::legend(ui, report);
            },
        );
        let mut network_and_host = |ui: &mut Ui| {
            totals::network(ui, report);
            ui.add_space(6.0);
            ui.label(RichText::new("Memory of the host").strong());
            totals::host(ui, report);
        };
        let mut parts: [Part<'_>; 5] = [
            ("Bytes by class at the peak", &mut |ui| {
                classes::show(ui, report);
            }),
            ("Predicted and measured", &mut |ui| {
                totals::device(ui, report);
            }),
            ("Loss", &mut |ui| {
                curve::show(ui, report, state.total_updates, PLOT_POINTS);
            }),
            ("Result and time", &mut |ui| totals::run(ui, report)),
            ("Network", &mut network_and_host),
        ];
        cards(ui, &mut parts);
        if state.experiment.model.context().is_some() {
            theme::card(ui, "Text from the model", |ui| {
                self.sample.show(ui, control, state);
            });
        }
        theme::card(ui, "Largest tensors at the peak", |ui| {
            tensors::show(ui, report);
        });
    }
}

type Part<'a> = (&'a str, &'a mut dyn FnMut(&mut Ui));

/// Cards in rows of as many as the width has room for.
fn cards(ui: &mut Ui, parts: &mut [Part<'_>]) {
    let n_columns = ((ui.available_width() / CARD_POINTS) as usize).clamp(1, 3);
    for row in parts.chunks_mut(n_columns) {
        let n_cards = row.len();
        ui.columns(n_cards, |columns| {
            for (column, (title, contents)) in columns.iter_mut().zip(row) {
                theme::card(column, title, contents);
            }
        });
    }
}

fn buttons(ui: &mut Ui, control: &Control, state: &SessionState) {
    ui.horizontal_wrapped(|ui| {
        let status = state.status;
        let start = match status {
            Status::Paused => "Resume",
            Status::Done | Status::Failed => "Start again",
            Status::Idle | Status::Loading | Status::Running => "Start",
        };
        let can_start =
            !matches!(status, Status::Running | Status::Loading) && state.report.is_some();
        let primary = Button::new(RichText::new(start).strong()).min_size(vec2(74.0, 25.0));
        if ui.add_enabled(can_start, primary).clicked() {
            control.start();
        }
        let pause = Button::new("Pause").min_size(vec2(64.0, 26.0));
        if ui
            .add_enabled(status == Status::Running, pause)
            .on_hover_text("Stop after this update; everything stays in memory.")
            .clicked()
        {
            control.pause();
        }
        let reset = Button::new("Reset").min_size(vec2(64.0, 26.0));
        if ui
            .add_enabled(status != Status::Idle, reset)
            .on_hover_text("Free everything on the device.")
            .clicked()
        {
            control.reset();
        }
        progress(ui, state);
    });
}

/// Which engine trains, and on what.
fn engine(ui: &mut Ui, report: Option<&Report>) {
    match report.and_then(|r| r.engine.as_ref()) {
        Some(engine) => {
            let label = format!(
                "{} engine on {} ({}).",
                engine.kind.to_uppercase(),
                engine.adapter,
                engine.backend
            );
            ui.small(label)
                .on_hover_text(format!("{} {}", engine.device_type, engine.driver));
        }
        None => {
            ui.small("No engine is open: the numbers below are the plan's.");
        }
    }
}

fn progress(ui: &mut Ui, state: &SessionState) {
    let words = match state.status {
        Status::Idle => "idle",
        Status::Loading => "reading data, opening engine",
        Status::Running => "training",
        Status::Paused => "paused",
        Status::Done => "done",
        Status::Failed => "stopped by an error",
    };
    let done = state.report.as_ref().map_or(0, |report| report.steps);
    if state.total_updates == 0 {
        ui.label(words);
        return;
    }
    let share = done as f32 / state.total_updates as f32;
    let text = format!("{words}: update {done} of {}", state.total_updates);
    // White on the fill and dark on the empty part cannot both be read, so the words stand beside the bar.
    ui.add(
        ProgressBar::new(share)
            .desired_width(110.0)
            .desired_height(10.0),
    );
    ui.label(text);
}
