//! The data of the experiment: what it is, and files of the reader's own in its place.
//!
//! A file comes from the picker, from a drop on the window, or natively from a typed path. Its ending says what it is.

use super::control::Control;
use super::{picker, theme};
use crate::data::picked;
use crate::experiment::{Cnn, Data, Experiment, Mlp, Model, Tokenizer, Transformer};
use egui::{DragValue, TextEdit, Ui};

/// What is being typed, and why the last file was refused.
#[derive(Default)]
pub(super) struct DataSource {
    path: String,
    refused: Option<String>,
}

impl DataSource {
    /// Draws the row and takes in files that were dropped or picked.
    pub(super) fn show(&mut self, ui: &mut Ui, control: &Control) {
        for file in ui.input(|input| input.raw.dropped_files.clone()) {
            if let Some(path) = picker::dropped(&file) {
                self.open(control, path);
            }
        }
        for (name, bytes) in picker::taken() {
            self.offer(control, &name, bytes);
        }
        let mut draft = control.newest();
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            ui.label("Data");
            ui.strong(name_of(&draft.data)).on_hover_text(
                "Drop a text, a .csv, .npz or CIFAR-10 .bin file, or on the desktop a folder of pictures, on the window to train on it.",
            );
            if picker::button(ui) {
                picker::open();
            }
            if cfg!(not(target_arch = "wasm32")) {
                let label = ui.label("Path");
                let edit = TextEdit::singleline(&mut self.path)
                    .desired_width(170.0)
                    .hint_text("of a file or folder");
                let edit = ui.add(edit).labelled_by(label.id);
                let entered = edit.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
                let typed = !self.path.trim().is_empty();
                if (ui.button("Load").clicked() || entered) && typed {
                    let path = self.path.trim().to_owned();
                    self.open(control, path);
                }
            }
            if ui
                .button("Shipped data")
                .on_hover_text("Go back to the data that comes with the program.")
                .clicked()
            {
                let source = if is_text(&draft.model) {
                    "austen"
                } else {
                    "fashion-mnist"
                };
                self.replace(control, Data::new(source, draft.data.batch));
            }
            let before = draft.data.clone();
            fields(ui, &mut draft.data);
            if draft.data != before && draft.validate().is_ok() {
                control.replace(draft);
            }
        });
        if let Some(refused) = &self.refused {
            let title = "This file cannot be used.";
            theme::message(ui, title, refused, theme::alert_color(ui));
        }
    }

    /// Takes a file that is in memory, as in a browser.
    fn offer(&mut self, control: &Control, name: &str, bytes: Vec<u8>) {
        picked::offer(name, bytes);
        self.open(control, picked::path_of(name));
    }

    /// Trains on what is at `path`, with a model that can.
    fn open(&mut self, control: &Control, path: String) {
        let mut data = Data::new(source_of(&path), control.newest().data.batch);
        data.path = Some(path);
        self.replace(control, data);
    }

    fn replace(&mut self, control: &Control, data: Data) {
        let mut draft = control.newest();
        draft.model = model_for(&data, &draft);
        draft.data = data;
        self.refused = match draft.validate() {
            Ok(()) => crate::data::source_info(&draft.data)
                .err()
                .map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if self.refused.is_none() {
            control.replace(draft);
        }
    }
}

/// What the reader knows the data by.
fn name_of(data: &Data) -> String {
    let path = data.path.as_deref().unwrap_or_default();
    let file = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    if file.is_empty() {
        data.source.clone()
    } else {
        format!("{} ({file})", data.source)
    }
}

/// What a file is, by its ending; a folder holds pictures.
fn source_of(path: &str) -> &'static str {
    let lower = path.to_ascii_lowercase();
    let ends = |ending: &str| lower.ends_with(ending);
    if ends(".csv") {
        "csv"
    } else if ends(".npz") {
        "npy"
    } else if ends(".bin") {
        "cifar-10"
    } else if is_folder(path) {
        "images"
    } else {
        "text"
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn is_folder(path: &str) -> bool {
    std::path::Path::new(path).is_dir()
}

#[cfg(target_arch = "wasm32")]
fn is_folder(_path: &str) -> bool {
    false
}

fn is_text(model: &Model) -> bool {
    matches!(model, Model::Transformer(_))
}

/// The model as it is where it can take the data, else one with its defaults that can.
fn model_for(data: &Data, draft: &Experiment) -> Model {
    let text = matches!(data.source.as_str(), "text" | "austen");
    match (text, data.source.as_str(), &draft.model) {
        (true, _, Model::Transformer(_)) => draft.model.clone(),
        (true, ..) => Model::Transformer(Transformer::default()),
        // Columns of numbers are no pictures.
        (false, "csv", Model::Mlp(_)) => draft.model.clone(),
        (false, "csv", _) => Model::Mlp(Mlp::default()),
        (false, _, Model::Transformer(_)) => Model::Cnn(Cnn::default()),
        (false, ..) => draft.model.clone(),
    }
}

/// Fields that the source uses: the tokenizer of a text, the label column of a CSV file.
fn fields(ui: &mut Ui, data: &mut Data) {
    if data.uses("tokenizer") {
        let mut learned = data.tokenizer != Tokenizer::Bytes;
        let hint = "Tokens are learned from the text: frequent words and pieces of words. Without it a token is a byte.";
        if ui
            .checkbox(&mut learned, "BPE")
            .on_hover_text(hint)
            .changed()
        {
            data.tokenizer = match learned {
                true => Tokenizer::Bpe { vocabulary: 1024 },
                false => Tokenizer::Bytes,
            };
        }
        if let Tokenizer::Bpe { vocabulary } = &mut data.tokenizer {
            let label = ui.label("Vocabulary");
            let drag = DragValue::new(vocabulary)
                .range(257..=65_536)
                .update_while_editing(false);
            ui.add(drag).labelled_by(label.id);
        }
    }
    if data.uses("label") {
        let label = ui.label("Label column");
        let edit = TextEdit::singleline(&mut data.label).desired_width(80.0);
        ui.add(edit).labelled_by(label.id);
    }
}
