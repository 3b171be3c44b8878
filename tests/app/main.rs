//! The app without a window: it is driven and read through its accessibility tree, as a screen reader would.

mod own_data;
mod running;
#[path = "../common/window.rs"]
mod window;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use headroom::app::{exact, grouped};
use headroom::experiment::Model;
use headroom::graph::CLASSES;
use headroom::lesson::lessons;
use headroom::train::{SessionState, Status};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;
use window::{
    DESKTOP, SMALL, has_button, open, open_small_run, press, state, wait, wait_for, words,
};

#[track_caller]
fn assert_says(said: &[String], expected: &str) {
    assert!(
        said.iter().any(|text| text == expected),
        "{expected:?} is not among {said:#?}"
    );
}

#[track_caller]
fn assert_mentions(said: &[String], part: &str) {
    assert!(
        said.iter().any(|text| text.contains(part)),
        "nothing contains {part:?} among {said:#?}"
    );
}

/// The numbers of `report`'s memory, as JSON has them, must all be on the screen.
#[track_caller]
fn assert_shows_memory(said: &[String], report: &Value) {
    let memory = &report["memory"];
    for field in ["peak_bytes", "reserved_bytes"] {
        for kind in ["predicted", "measured"] {
            if let Some(bytes) = memory[field][kind].as_u64() {
                assert_says(said, &format!("{} bytes", grouped(bytes)));
            }
        }
    }
    let mut n_bars = 0;
    for class in CLASSES {
        let bytes = memory["at_peak"]["by_class"][class.name()]
            .as_u64()
            .expect("every class is in the report");
        let most = memory["peak_by_class"][class.name()]
            .as_u64()
            .expect("every class is in the report");
        if bytes > 0 {
            n_bars += 1;
            let bar = format!(
                "{}: {} at the peak; at most {} at any moment of the step",
                class.name(),
                exact(bytes),
                exact(most)
            );
            assert_says(said, &bar);
        }
    }
    assert!(n_bars >= 5, "only {n_bars} classes have bytes");
    let node = memory["at_peak"]["node"]
        .as_str()
        .expect("the peak has a node");
    let phase = memory["at_peak"]["phase"]
        .as_str()
        .expect("the peak has a phase");
    assert_mentions(said, &format!("at {node} in {phase}: "));
    assert_says(
        said,
        &grouped(
            report["model"]["parameters"]
                .as_u64()
                .expect("a number of parameters"),
        ),
    );
    for tensor in memory["largest"].as_array().expect("a list") {
        assert_says(said, tensor["name"].as_str().expect("a name"));
    }
}

fn json_of(state: &SessionState) -> Value {
    let report = state.report.as_deref().expect("a report");
    serde_json::to_value(report).expect("a report is JSON")
}

#[test]
fn every_lesson_and_experiment_is_drawn_at_both_sizes() {
    let mut n_drawn = 0;
    for size in [DESKTOP, SMALL] {
        let mut window = open(size);
        for (lesson, found) in lessons().iter().enumerate() {
            for variant in 0..found.variants.len() {
                window
                    .state_mut()
                    .open(lesson, variant)
                    .expect("a valid experiment");
                let wanted = window.state().control().newest();
                let now = wait(&mut window, "the experiment", |state| {
                    state.experiment == wanted
                });
                for name in ["Start", "Pause", "Reset", "Lab", "Kernels"] {
                    assert!(has_button(&window, name), "{name} is missing at {size:?}");
                }
                window.get_by_role_and_label(Role::SpinButton, "Batch size");
                for name in controls_of(&wanted.model) {
                    window.get_by_role_and_label(Role::SpinButton, name);
                }
                window.get_by_role_and_label(Role::CheckBox, "Memory budget");
                assert_shows_memory(&words(&window), &json_of(&now));
                n_drawn += 1;
            }
        }
    }
    assert!(n_drawn >= 2 * 3, "only {n_drawn} experiments were drawn");
}

/// The numbers that a model of each kind lets the reader change.
fn controls_of(model: &Model) -> &'static [&'static str] {
    match model {
        Model::Mlp(_) => &["Hidden width"],
        Model::Cnn(_) => &["Channels", "Blocks per stage"],
        Model::MobileNet(_) => &["Width multiplier", "Layers"],
        Model::EfficientNet(_) => &["Compound φ", "Base width"],
        Model::Transformer(_) => &["Context", "Layers"],
    }
}

#[test]
fn a_small_window_shows_the_lesson_on_a_page_of_its_own() {
    let mut window = open(SMALL);
    // The title stands in the choice of lessons too.
    let heading = lessons()[0]
        .markdown
        .lines()
        .find_map(|line| line.strip_prefix("## "))
        .expect("a heading");
    assert!(
        !words(&window).iter().any(|text| text.contains(heading)),
        "the lesson has no room beside the lab"
    );
    press(&window, "Lesson");
    window.run_steps(3);
    assert_mentions(&words(&window), heading);
    assert!(!has_button(&window, "Start"));

    let window = open(DESKTOP);
    assert!(
        !has_button(&window, "Lesson"),
        "the lesson stands beside the lab, there is no page to choose"
    );
    assert_mentions(&words(&window), heading);
    assert!(has_button(&window, "Start"));
}

/// ME-14: the same experiment has the same totals in the plan command and in the app.
#[test]
fn the_app_and_the_plan_command_give_the_same_totals() {
    let file = "lessons/01-where-memory-goes/base.toml";
    let mut plan = Command::new(env!("CARGO_BIN_EXE_headroom"));
    let output = plan
        .args(["plan", file, "--json", "-"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut window = open(DESKTOP);
    let now = wait_for(&mut window, Status::Idle);
    assert_eq!(
        json_of(&now)["memory"]["at_peak"],
        printed["memory"]["at_peak"]
    );
    assert_shows_memory(&words(&window), &printed);
}

#[test]
fn start_trains_to_the_end_and_reset_returns_to_the_plan() {
    let mut window = open_small_run(DESKTOP, 12);
    let before = state(&window);
    press(&window, "Start");
    let done = wait_for(&mut window, Status::Done);
    let report = json_of(&done);
    let said = words(&window);
    assert_eq!(report["steps"], 12);
    assert_eq!(
        report["memory"]["peak_bytes"]["predicted"],
        report["memory"]["peak_bytes"]["measured"]
    );
    assert_shows_memory(&said, &report);
    assert_says(&said, "done: update 12 of 12");
    assert_says(&said, "Measured and predicted are equal to the byte.");
    assert_mentions(&said, "CPU engine on ");
    let (first, last) = (
        report["loss"]["first"].as_f64().expect("a loss"),
        report["loss"]["last"].as_f64().expect("a loss"),
    );
    assert_says(
        &said,
        &format!("Loss curve, 12 updates: first {first:.4}, last {last:.4}"),
    );
    assert_says(&said, &format!("{last:.4} (first {first:.4})"));
    assert_says(
        &said,
        &format!(
            "{:.4}",
            report["metrics"]["test_accuracy"]
                .as_f64()
                .expect("an accuracy")
        ),
    );
    let time = &report["time"];
    assert_says(
        &said,
        &format!(
            "{:.2} ms (median)",
            time["step_millis"]["median"].as_f64().expect("a time")
        ),
    );

    press(&window, "Reset");
    let after = wait_for(&mut window, Status::Idle);
    let memory = |state: &SessionState| json_of(state)["memory"]["peak_bytes"].clone();
    assert_eq!(memory(&after), memory(&before));
    let script: Value = serde_json::from_str(&window.state().control().state_json()).expect("JSON");
    assert_eq!(
        (
            &script["status"],
            &script["reserved_bytes"],
            &script["losses"]
        ),
        (&"idle".into(), &Value::Null, &Value::Array(vec![]))
    );
}

#[test]
fn pause_holds_and_resume_goes_on() {
    let mut window = open_small_run(SMALL, 1_000_000);
    press(&window, "Start");
    wait(&mut window, "ten updates", |state| {
        state
            .report
            .as_ref()
            .is_some_and(|report| report.steps >= 10)
    });
    press(&window, "Pause");
    let steps = |state: &SessionState| state.report.as_ref().map_or(0, |report| report.steps);
    let paused = steps(&wait_for(&mut window, Status::Paused));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(
        steps(&state(&window)),
        paused,
        "updates were made during the pause"
    );
    press(&window, "Resume");
    wait(&mut window, "more updates", |state| steps(state) > paused);
    press(&window, "Reset");
    assert_eq!(steps(&wait_for(&mut window, Status::Idle)), 0);
}

#[test]
fn a_budget_stops_training_with_the_whole_message_and_without_it_training_runs() {
    let mut window = open_small_run(DESKTOP, 3);
    window
        .get_by_role_and_label(Role::CheckBox, "Memory budget")
        .click();
    wait(&mut window, "the budget", |state| {
        state.experiment.memory.budget.is_some()
    });
    assert_mentions(&words(&window), "Budget ");
    press(&window, "Start");
    let stopped = wait(&mut window, "the out-of-memory", |state| {
        state.message.is_some()
    });
    let message = stopped.message.expect("a message");
    assert!(message.contains("out of memory"), "{message}");
    assert_says(&words(&window), &message);
    window
        .get_by_role_and_label(Role::CheckBox, "Memory budget")
        .click();
    wait(&mut window, "the budget to go", |state| {
        state.experiment.memory.budget.is_none()
    });
    press(&window, "Start");
    wait_for(&mut window, Status::Done);
}

#[test]
fn the_controls_plan_the_step_anew() {
    let mut window = open(SMALL);
    let predicted = |state: &SessionState| {
        state
            .report
            .as_ref()
            .map_or(0, |report| report.memory.peak_bytes.predicted)
    };
    let before = predicted(&state(&window));
    window
        .get_by_role_and_label(Role::SpinButton, "Batch size")
        .set_value_accesskit(1024.0);
    let larger = wait(&mut window, "the batch size", |state| {
        state.experiment.data.batch == 1024
    });
    assert!(
        predicted(&larger) > before,
        "{} is not above {before}",
        predicted(&larger)
    );
    assert_shows_memory(&words(&window), &json_of(&larger));
    window
        .get_by_role_and_label(Role::SpinButton, "Hidden width")
        .set_value_accesskit(32.0);
    let narrower = wait(&mut window, "the width", |state| {
        state
            .report
            .as_ref()
            .is_some_and(|r| predicted(state) != 0 && r.experiment != larger.experiment)
    });
    assert!(predicted(&narrower) < predicted(&larger));
    assert_eq!(
        narrower.experiment.data.batch, 1024,
        "the earlier change is kept"
    );
}

#[test]
fn the_kernels_page_shows_the_text_of_what_ran() {
    let mut window = open_small_run(DESKTOP, 2);
    press(&window, "Kernels");
    window.run_steps(2);
    assert_says(&words(&window), "None yet: press Start.");
    window.state().control().start();
    let done = wait_for(&mut window, Status::Done);
    let kernels = done
        .report
        .and_then(|report| report.engine.clone())
        .expect("an engine")
        .kernels;
    assert!(kernels.len() >= 5, "{kernels:?}");
    for name in &kernels {
        press(&window, name);
        window.run_steps(2);
        let text = headroom::engine::kernel::kernel(name)
            .expect("a kernel of the table")
            .wgsl;
        assert_says(&words(&window), text);
    }
    press(&window, "Source file");
    window.run_steps(2);
    let source = headroom::engine::kernel::kernel(kernels.last().expect("some"))
        .expect("a kernel")
        .source;
    assert_says(&words(&window), source);
}

#[test]
fn scripts_of_a_page_are_told_what_is_wrong_with_a_command() {
    let window = open(SMALL);
    let control = window.state().control();
    let refused = |text: &str| {
        control
            .command(text)
            .expect_err("must be refused")
            .to_string()
    };
    assert!(refused("fly").contains("\"fly\""));
    assert!(refused("set train.stepz=3").contains("train.stepz"));
    assert!(refused("set data.batch=0").contains("data.batch"));
    assert!(
        control.command("set train.steps=20").is_ok()
            && control.command("set data.batch=7").is_ok()
    );
    let newest = control.newest();
    assert_eq!(
        (newest.train.steps, newest.train.epochs, newest.data.batch),
        (Some(20), None, 7),
        "the second builds on the first"
    );
}

/// What is not known is said to be unknown, and never shown as 0 (GP-20).
#[test]
fn unknown_host_memory_is_called_unknown() {
    let window = open(DESKTOP);
    let host = state(&window).report.expect("a report").memory.host;
    assert_eq!(host.wasm_reserved_bytes, None);
    let said = words(&window);
    assert_says(&said, "WebAssembly");
    assert_mentions(&said, "unknown here");
    assert!(
        !said.iter().any(|text| text == "0 B"),
        "an unknown number is shown as 0"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_display_the_program_says_what_to_do_instead() {
    let without = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_headroom"));
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            program.env_remove(name);
        }
        program
    };
    let dead_display = {
        let mut program = without();
        program.env("DISPLAY", ":9876");
        program
    };
    for mut program in [without(), dead_display] {
        let output = program.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("No display was found"), "{said}");
        assert!(
            said.contains("headroom run lessons/01-where-memory-goes/base.toml"),
            "{said}"
        );
    }
}
