//! The controls that change the network: for each kind the few numbers that decide what it needs.

use crate::experiment::{Form, Model};
use egui::{ComboBox, DragValue, Ui};

/// Largest width the controls offer; an experiment file may ask for more.
pub(super) const MOST: usize = 16_384;

/// Draws the controls of `model`. A draft may be one that cannot be built; the caller checks it.
pub(super) fn show(ui: &mut Ui, model: &mut Model) {
    match model {
        Model::Mlp(mlp) => {
            let Some(mut width) = mlp.hidden.first().copied() else {
                return;
            };
            let hint = "Units of each hidden layer. Weights between two hidden layers grow with its square.";
            if count(ui, "Hidden width", &mut width, (1, MOST), hint) {
                mlp.hidden.fill(width);
            }
        }
        Model::Cnn(cnn) => {
            let hint = "Channels of the first stage; every stage doubles them.";
            count(ui, "Channels", &mut cnn.width, (1, 4096), hint);
            let mut blocks = cnn.blocks();
            let hint =
                "Blocks of two convolutions in each stage. Activations and weights grow with them.";
            if count(ui, "Blocks per stage", &mut blocks, (1, 100), hint) {
                cnn.depth = 2 + 2 * cnn.stages * blocks;
            }
        }
        Model::MobileNet(mobilenet) => {
            let hint = "The paper's α: all channels are multiplied by it.";
            factor(
                ui,
                "Width multiplier",
                &mut mobilenet.width,
                (0.05, 4.0),
                hint,
            );
            let hint = "Depthwise-separable layers, the first so many of the paper's.";
            count(ui, "Layers", &mut mobilenet.layers, (1, 13), hint);
        }
        Model::EfficientNet(efficientnet) => {
            let hint = "The paper's φ: depth grows by 1.2^φ, width by 1.1^φ.";
            factor(
                ui,
                "Compound φ",
                &mut efficientnet.compound,
                (0.0, 6.0),
                hint,
            );
            let hint = "Width of the network that is scaled, as a share of B0's.";
            factor(ui, "Base width", &mut efficientnet.width, (0.05, 4.0), hint);
        }
        Model::Transformer(transformer) => {
            let hint = "Tokens of a sequence. Scores of plain attention grow with its square, all else with it.";
            count(ui, "Context", &mut transformer.context, (1, MOST), hint);
            let hint = "Blocks of attention and MLP. Activations and weights grow with them.";
            count(ui, "Layers", &mut transformer.layers, (1, 100), hint);
            let hint = "Plain keeps the softmax of every score, fused makes it again in the backward pass. The results are the same.";
            form(ui, "Attention", &mut transformer.attention, hint);
            let hint = "Plain keeps the logits of every token, fused makes them a few rows at a time, twice. The results are the same.";
            form(ui, "Loss", &mut transformer.loss, hint);
        }
    }
}

/// A whole number to drag or type; whether it was changed.
fn count(
    ui: &mut Ui,
    name: &str,
    value: &mut usize,
    (least, most): (usize, usize),
    hint: &str,
) -> bool {
    let label = ui.label(name);
    let drag = DragValue::new(value)
        .range(least..=most)
        .clamp_existing_to_range(false)
        .speed((most as f64 / 4000.0).clamp(0.05, 2.0))
        .update_while_editing(false);
    let changed = ui
        .add(drag)
        .labelled_by(label.id)
        .on_hover_text(format!("{hint} Drag, or click and type."))
        .changed();
    ui.add_space(8.0);
    changed
}

/// A factor to drag or type.
fn factor(ui: &mut Ui, name: &str, value: &mut f32, (least, most): (f32, f32), hint: &str) {
    let label = ui.label(name);
    let drag = DragValue::new(value)
        .range(least..=most)
        .clamp_existing_to_range(false)
        .speed(0.01)
        .max_decimals(3)
        .update_while_editing(false);
    ui.add(drag)
        .labelled_by(label.id)
        .on_hover_text(format!("{hint} Drag, or click and type."));
    ui.add_space(8.0);
}

/// A choice between the two forms.
fn form(ui: &mut Ui, name: &str, value: &mut Form, hint: &str) {
    let word = |form: Form| match form {
        Form::Plain => "plain",
        Form::Fused => "fused",
    };
    let label = ui.label(name);
    ComboBox::from_id_salt(name)
        .selected_text(word(*value))
        .width(64.0)
        .show_ui(ui, |ui| {
            for form in [Form::Plain, Form::Fused] {
                ui.selectable_value(value, form, word(form));
            }
        })
        .response
        .labelled_by(label.id)
        .on_hover_text(hint);
    ui.add_space(8.0);
}
