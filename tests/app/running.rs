//! The window while a training runs: it stays responsive, and an out-of-memory loses nothing.

use crate::window::{DESKTOP, open_on, open_small_run, press, state, wait, wait_for};
use headroom::engine::EngineChoice;
use headroom::train::Status;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// A step here takes far longer than a frame, so a window that waited for one would show it at once.
#[test]
fn input_is_handled_within_100_ms_while_the_gpu_trains() {
    let mut window = open_on(DESKTOP, EngineChoice::Gpu);
    let control = window.state().control();
    for setting in [
        "set data.batch=1024",
        "set model.hidden=[1024, 1024]",
        "set train.steps=1000000",
    ] {
        control.command(setting).expect("a valid setting");
    }
    wait(&mut window, "the settings to arrive", |state| {
        state.experiment.train.steps == Some(1_000_000)
    });
    press(&window, "Start");
    let trained = wait(&mut window, "two updates", |state| {
        state
            .report
            .as_ref()
            .is_some_and(|report| report.steps >= 2)
    });
    let report = trained.report.expect("a report");
    let info = report.engine.as_ref().expect("an engine");
    let name = "input_is_handled_within_100_ms_while_the_gpu_trains";
    let _ = writeln!(
        std::io::stderr(),
        "[gpu] {name} on {} ({})",
        info.adapter,
        info.backend
    );
    let step_millis = report.time.expect("times").step_millis.median;
    // On a graphics card a step is shorter than a frame, and there is nothing to wait for.
    assert!(
        step_millis > 150.0 || info.device_type != "cpu",
        "a step of {step_millis} ms is too short to tell"
    );
    let mut frames: Vec<Duration> = (0..60)
        .map(|_| {
            let begin = Instant::now();
            window.step();
            let taken = begin.elapsed();
            std::thread::sleep(Duration::from_millis(20));
            taken
        })
        .collect();
    frames.sort_unstable();
    assert_eq!(
        state(&window).status,
        Status::Running,
        "it trained all the while"
    );
    // Two frames of sixty may fall victim to the other processes of the machine.
    assert!(
        frames[57] < Duration::from_millis(100),
        "frames took up to {:?}",
        frames[57]
    );
    press(&window, "Pause");
    wait_for(&mut window, Status::Paused);
}

/// A budget set while it trains: past it the training pauses, and above it the same weights train on.
#[test]
fn an_out_of_memory_in_a_running_training_loses_nothing() {
    let mut window = open_small_run(DESKTOP, 100_000);
    let control = window.state().control();
    press(&window, "Start");
    wait(&mut window, "some updates", |state| {
        state
            .report
            .as_ref()
            .is_some_and(|report| report.steps > 20)
    });
    control
        .command("set memory.budget=100KiB")
        .expect("a budget");
    let paused = wait_for(&mut window, Status::Paused);
    assert!(
        paused
            .message
            .is_some_and(|text| text.contains("out of memory"))
    );
    let before = paused.report.expect("a report");
    assert!(before.steps > 20);
    control.command("set memory.budget=1GiB").expect("a budget");
    press(&window, "Resume");
    let after = wait(&mut window, "more updates", |state| {
        state
            .report
            .as_ref()
            .is_some_and(|report| report.steps > before.steps + 20)
    });
    assert_eq!((after.status, after.message), (Status::Running, None));
    let curve = |report: &headroom::report::Report| report.loss.clone().expect("losses").curve;
    let kept = curve(&before);
    assert_eq!(curve(&after.report.expect("a report"))[..kept.len()], kept);
}
