//! The controls that change the experiment: batch size, those of the network, and the memory budget.

use super::control::Control;
use super::model_settings::{self, MOST};
use super::theme;
use crate::experiment::Experiment;
use crate::train::{SessionState, Status};
use crate::units::Bytes;
use egui::{DragValue, Slider, Ui};

/// The lower end of the budget slider is the upper end divided by this.
const BUDGET_SPAN: u64 = 256;

/// Settings that are being changed and not sent yet.
#[derive(Default)]
pub(super) struct Settings {
    /// Kept while a control is dragged during a run, so that the run ends only once.
    held: Option<Experiment>,
    /// Why the last change was refused.
    refused: Option<String>,
}

impl Settings {
    /// Draws the controls and sends what they changed.
    pub(super) fn show(&mut self, ui: &mut Ui, control: &Control, state: &SessionState) {
        let newest = control.newest();
        let mut draft = self.held.take().unwrap_or_else(|| newest.clone());
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            batch(ui, &mut draft);
            model_settings::show(ui, &mut draft.model);
            budget(ui, &mut draft, state);
        });
        self.send(ui, control, is_busy(state), draft, &newest);
        if let Some(refused) = &self.refused {
            theme::message(
                ui,
                "This setting is not possible.",
                refused,
                theme::alert_color(ui),
            );
        }
    }

    /// What a change does now.
    pub(super) fn hint(state: &SessionState) -> &'static str {
        if is_busy(state) {
            "Changing the budget holds from the next update on; any other setting resets the training."
        } else {
            "Changing a setting plans the step anew at once."
        }
    }

    fn send(
        &mut self,
        ui: &Ui,
        control: &Control,
        busy: bool,
        draft: Experiment,
        newest: &Experiment,
    ) {
        if draft == *newest {
            return;
        }
        if busy && ui.ctx().egui_is_using_pointer() {
            self.held = Some(draft);
            return;
        }
        self.refused = draft.validate().err().map(|error| error.to_string());
        if self.refused.is_none() {
            control.replace(draft);
        }
    }
}

/// Whether a change would end a run.
fn is_busy(state: &SessionState) -> bool {
    matches!(
        state.status,
        Status::Running | Status::Loading | Status::Paused
    )
}

fn batch(ui: &mut Ui, draft: &mut Experiment) {
    let label = ui.label("Batch size");
    let least = draft.techniques.accumulate.max(1);
    let value = DragValue::new(&mut draft.data.batch)
        .range(least..=MOST)
        .clamp_existing_to_range(false)
        .speed(1.0)
        .update_while_editing(false);
    ui.add(value).labelled_by(label.id).on_hover_text("Samples per optimizer update. Activations grow with it; weights do not. Drag, or click and type.");
    ui.add_space(8.0);
}

fn budget(ui: &mut Ui, draft: &mut Experiment, state: &SessionState) {
    let needed = state
        .report
        .as_ref()
        .map_or(1 << 26, |report| report.memory.reserved_bytes.predicted);
    let most = needed.saturating_mul(2).next_power_of_two().min(1 << 62);
    let mut limited = draft.memory.budget.is_some();
    let hint = "A limit on the bytes training may take from the device. Past it, training pauses with an out-of-memory message and nothing is lost: raise the limit and go on.";
    if ui
        .checkbox(&mut limited, "Memory budget")
        .on_hover_text(hint)
        .changed()
    {
        // Just below what is needed, so that the first Start shows what happens.
        draft.memory.budget = limited.then_some(Bytes(needed / 4 * 3).max(Bytes(1)));
    }
    let Some(budget) = draft.memory.budget else {
        ui.weak("no limit");
        return;
    };
    let mut bytes = budget.0;
    let slider = Slider::new(&mut bytes, most / BUDGET_SPAN..=most)
        .logarithmic(true)
        .clamping(egui::SliderClamping::Never)
        .custom_formatter(|bytes, _| Bytes(bytes as u64).to_string())
        .custom_parser(|text| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
        .update_while_editing(false);
    if ui
        .add(slider)
        .on_hover_text("Memory budget. Drag, or click the number and type for example 8 MiB.")
        .changed()
    {
        draft.memory.budget = Some(Bytes(bytes.max(1)));
    }
}
