//! Text from the language model as it is trained so far.

use super::control::Control;
use crate::train::{Sampling, SessionState, Status};
use egui::{Button, Slider, TextEdit, Ui};

/// What is asked for with the next press of the button.
#[derive(Default)]
pub(super) struct Sample {
    sampling: Sampling,
}

impl Sample {
    /// Draws the controls and the text that was sampled last.
    pub(super) fn show(&mut self, ui: &mut Ui, control: &Control, state: &SessionState) {
        let sampling = &mut self.sampling;
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("Goes on from");
            let edit = TextEdit::singleline(&mut sampling.prompt)
                .desired_width(170.0)
                .hint_text("the start of a line");
            ui.add(edit).labelled_by(label.id);
            let label = ui.label("Tokens");
            let drag = egui::DragValue::new(&mut sampling.tokens).range(1..=2000);
            ui.add(drag).labelled_by(label.id);
            let label = ui.label("Temperature");
            ui.add(Slider::new(&mut sampling.temperature, 0.0..=1.5))
                .labelled_by(label.id)
                .on_hover_text("How freely tokens are chosen: 0 takes the likeliest each time, 1 follows the model's own chances.");
            let has_weights = matches!(
                state.status,
                Status::Running | Status::Paused | Status::Done
            );
            let ready = has_weights && !state.is_sampling;
            let hint = "Train a little first: the text comes from the weights as they are now.";
            if ui
                .add_enabled(ready, Button::new("Sample text"))
                .on_disabled_hover_text(hint)
                .clicked()
            {
                control.sample(sampling.clone());
            }
        });
        match &state.sample {
            Some(text) => {
                let goes_on = if state.is_sampling { " ..." } else { "" };
                ui.label(drawable(ui, text) + goes_on);
            }
            None => {
                ui.weak("Nothing has been sampled yet.");
            }
        }
    }
}

/// The text with a dot for every character that cannot be drawn: a model that chooses bytes makes some that are no text.
fn drawable(ui: &Ui, text: &str) -> String {
    let font = egui::TextStyle::Body.resolve(ui.style());
    ui.ctx().fonts_mut(|fonts| {
        let mut can_draw = |c: char| match c {
            '\n' => true,
            '\u{fffd}' => false,
            // A browser draws what the fonts in the program lack.
            _ => !c.is_control() && (cfg!(target_arch = "wasm32") || fonts.has_glyph(&font, c)),
        };
        text.chars()
            .map(|c| if can_draw(c) { c } else { '·' })
            .collect()
    })
}
