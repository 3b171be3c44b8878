//! Data of the reader's own in the window: a typed path, and a language model that writes.

use crate::window::{DESKTOP, Window, has_button, open_on, press, state, wait, wait_for, words};
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use headroom::engine::EngineChoice;
use headroom::train::Status;

#[test]
fn a_typed_path_is_trained_on_and_the_model_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("mine.txt");
    std::fs::write(
        &text,
        "the cat sat on the mat, and so it goes on\n".repeat(30),
    )
    .expect("a file");
    let mut window = open_on(DESKTOP, EngineChoice::Cpu);
    let path = text.display().to_string();
    load(&mut window, &path);
    let now = wait(&mut window, "the text", |state| {
        state.experiment.data.source == "text"
    });
    assert_eq!(
        now.experiment.model.kind(),
        "transformer",
        "an MLP cannot read a text"
    );
    assert_eq!(now.experiment.data.path.as_deref(), Some(&*path));

    let control = window.state().control();
    for setting in [
        "set model={kind=\"transformer\", layers=1, width=16, heads=2, context=16}",
        "set data.batch=4",
        "set train.steps=3",
    ] {
        control.command(setting).expect("a valid setting");
    }
    wait(&mut window, "the settings", |state| {
        state.experiment.train.steps == Some(3)
    });
    for name in ["Context", "Layers"] {
        window.get_by_role_and_label(Role::SpinButton, name);
    }
    for name in ["Attention", "Loss"] {
        window.get_by_role_and_label(Role::ComboBox, name);
    }
    press(&window, "Start");
    wait_for(&mut window, Status::Done);
    control.command("sample 8").expect("a command");
    let now = wait(&mut window, "a text", |state| {
        state.sample.is_some() && !state.is_sampling
    });
    let sample = now.sample.expect("a text");
    assert!(!sample.is_empty());
    window.run_steps(3);
    assert!(has_button(&window, "Sample text"));
    // What is no text is drawn as dots.
    let plain = |text: &str| {
        text.chars()
            .filter(char::is_ascii_graphic)
            .collect::<String>()
    };
    let shown = words(&window);
    assert!(
        shown.iter().any(|word| plain(word) == plain(&sample)),
        "{sample:?} in {shown:?}"
    );
    assert_eq!(now.report.expect("a report").sample, Some(sample));
}

#[test]
fn a_file_that_cannot_be_used_is_refused_and_nothing_changes() {
    let mut window = open_on(DESKTOP, EngineChoice::Cpu);
    let before = state(&window).experiment;
    load(&mut window, "/no/such/table.csv");
    window.run_steps(3);
    assert!(
        words(&window)
            .iter()
            .any(|word| word.contains("/no/such/table.csv")),
        "the message names the file"
    );
    assert_eq!(state(&window).experiment, before);
}

/// Types a path and presses Load.
fn load(window: &mut Window, path: &str) {
    let field = window.get_by_role_and_label(Role::TextInput, "Path");
    field.focus();
    window.run_steps(2);
    window
        .get_by_role_and_label(Role::TextInput, "Path")
        .type_text(path);
    window.run_steps(2);
    press(window, "Load");
    window.run_steps(2);
}
