//! A window of the app that is driven and read through its accessibility tree.

use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use headroom::app::App;
use headroom::engine::EngineChoice;
use headroom::train::{SessionState, Status};
use std::time::{Duration, Instant};

/// The two sizes the app is laid out for, in points.
pub(crate) const DESKTOP: [f32; 2] = [1400.0, 900.0];
pub(crate) const SMALL: [f32; 2] = [800.0, 600.0];
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) type Window = Harness<'static, App>;

pub(crate) fn open(size: [f32; 2]) -> Window {
    open_on(size, EngineChoice::Cpu)
}

/// A window whose trainings run on the engine `choice`.
pub(crate) fn open_on(size: [f32; 2], choice: EngineChoice) -> Window {
    let builder = Harness::builder().with_size(size);
    let mut window = builder.build_eframe(|created| {
        App::new(&created.egui_ctx, choice).expect("the lessons are valid")
    });
    window.run_steps(3);
    window
}

/// A window with an experiment that takes a second on the CPU engine.
pub(crate) fn open_small_run(size: [f32; 2], steps: usize) -> Window {
    let mut window = open(size);
    let control = window.state().control();
    for setting in [
        "set data.batch=8",
        "set model.hidden=[16]",
        &format!("set train.steps={steps}"),
    ] {
        control.command(setting).expect("a valid setting");
    }
    wait(&mut window, "the settings to arrive", |state| {
        state.experiment.train.steps == Some(steps) && state.experiment.data.batch == 8
    });
    window
}

pub(crate) fn state(window: &Window) -> SessionState {
    window.state().control().state()
}

/// Draws until `met`, and twice more so that what is drawn is of that state.
pub(crate) fn wait(
    window: &mut Window,
    what: &str,
    met: impl Fn(&SessionState) -> bool,
) -> SessionState {
    let begin = Instant::now();
    loop {
        window.step();
        let now = state(window);
        if met(&now) {
            window.run_steps(2);
            return now;
        }
        assert!(
            begin.elapsed() < PATIENCE,
            "waited in vain for {what}; status {:?}, message {:?}",
            now.status,
            now.message
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn wait_for(window: &mut Window, status: Status) -> SessionState {
    wait(window, status.name(), |state| state.status == status)
}

pub(crate) fn press(window: &Window, name: &str) {
    window.get_by_role_and_label(Role::Button, name).click();
}

pub(crate) fn has_button(window: &Window, name: &str) -> bool {
    window.query_by_role_and_label(Role::Button, name).is_some()
}

/// Everything the window says, in words.
pub(crate) fn words(window: &Window) -> Vec<String> {
    let nodes = window.root().children_recursive();
    let texts = nodes.flat_map(|node| {
        let node = node.accesskit_node();
        [node.label(), node.value()]
    });
    texts.flatten().collect()
}
