//! What a run and a plan leave behind: the report's contract, the same bytes everywhere, and the exit codes.

use crate::{NO_ADAPTER, SMALL, Scene, headroom, stderr, stdout};
use std::io::Write as _;

#[test]
fn the_report_has_the_fields_of_the_contract_and_predicts_what_was_measured() {
    let scene = Scene::new(SMALL);
    let output = scene.headroom(
        "run",
        &[
            "--engine", "gpu", "--json", "out.json", "--csv", "out.csv", "--png", "out.png",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = scene.json("out.json");
    let info = &report["engine"];
    let text = |field: &str| info[field].as_str().unwrap_or_default().to_owned();
    let _ = writeln!(
        std::io::stderr(),
        "[gpu] the_report_has_the_fields_of_the_contract on {} ({})",
        text("adapter"),
        text("backend")
    );
    for pointer in [
        "/experiment/train/optimizer/lr",
        "/engine/adapter",
        "/engine/features",
        "/model/parameters",
        "/loss/first",
        "/loss/last",
        "/loss/curve/4/1",
        "/metrics/test_accuracy",
        "/memory/peak_bytes/predicted",
        "/memory/at_peak/program",
        "/memory/at_peak/phase",
        "/memory/at_peak/node",
        "/memory/at_peak/by_class/weights",
        "/memory/peak_by_class/activations",
        "/memory/largest/0/name",
        "/memory/largest/0/shape/0",
        "/memory/timeline/0/by_class/data",
        "/memory/host/rss_bytes",
        "/memory/host/dataset_bytes",
        "/time/step_millis/median",
        "/time/samples_per_second",
        "/time/data_wait_fraction",
    ] {
        assert!(
            report.pointer(pointer).is_some_and(|v| !v.is_null()),
            "{pointer} is missing"
        );
    }
    assert!(
        report["memory"].get("driver_bytes").is_some(),
        "unknown is null, not absent"
    );
    assert_eq!(
        (&report["schema"], &report["steps"]),
        (&1.into(), &5.into())
    );
    let memory = &report["memory"];
    assert_eq!(
        memory["peak_bytes"]["predicted"],
        memory["peak_bytes"]["measured"]
    );
    assert_eq!(
        memory["reserved_bytes"]["predicted"],
        memory["reserved_bytes"]["measured"]
    );
    let csv = std::fs::read_to_string(scene.path("out.csv")).unwrap();
    assert_eq!(
        (csv.lines().next(), csv.lines().count()),
        (Some("update,loss"), 6)
    );
    assert!(
        std::fs::read(scene.path("out.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
    let table = stdout(&output);
    for part in [
        "weights",
        "optimizer_state",
        "predicted",
        "measured",
        "peak in use",
        "phase",
        "accuracy",
    ] {
        assert!(table.contains(part), "{part} is missing in:\n{table}");
    }
    let weights = memory["at_peak"]["by_class"]["weights"].to_string();
    let row = table.lines().find(|l| l.trim().starts_with("weights "));
    assert_eq!(
        row.map(|row| row.matches(&weights).count()),
        Some(2),
        "predicted and measured bytes of a class stand in one row:\n{table}"
    );
    assert!(!table.contains("not as predicted"), "{table}");
}

/// ME-14: the plan and the run name one number.
#[test]
fn plan_and_run_predict_the_same_bytes() {
    let scene = Scene::new(SMALL);
    for (command, file) in [("plan", "plan.json"), ("run", "run.json")] {
        let output = scene.headroom(command, &["--json", file]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let (plan, run) = (scene.json("plan.json"), scene.json("run.json"));
    for pointer in [
        "/memory/peak_bytes/predicted",
        "/memory/reserved_bytes/predicted",
        "/memory/at_peak",
        "/memory/timeline",
        "/memory/largest",
        "/experiment",
    ] {
        assert_eq!(plan.pointer(pointer), run.pointer(pointer), "{pointer}");
    }
    assert!(plan["memory"]["peak_bytes"]["measured"].is_null() && plan["engine"].is_null());
}

/// ME-05: the plan's table has the lines that a states-only estimate leaves out.
#[test]
fn the_plan_shows_activations_workspace_batch_and_host_as_own_lines() {
    let scene = Scene::new(SMALL);
    let mut program = scene.command("plan", &["--set", "data.batch=2048", "--timeline"]);
    let output = program.envs(NO_ADAPTER).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "a plan needs no adapter: {}",
        stderr(&output)
    );
    let table = stdout(&output);
    for part in [
        "activations",
        "workspace",
        "data ",
        "host: batch in the making",
        "host: data set",
        "256 bytes",
        "A plan for training",
        "backward",
    ] {
        assert!(table.contains(part), "{part} is missing in:\n{table}");
    }
}

#[test]
fn json_on_standard_output_stands_there_alone() {
    let scene = Scene::new(SMALL);
    for command in ["run", "plan"] {
        let output = scene.headroom(command, &["--json", "-"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["schema"], 1);
    }
}

#[test]
fn a_budget_that_is_too_small_exits_with_3_says_everything_and_leaves_a_report() {
    let scene = Scene::new(SMALL);
    let needed = {
        scene.headroom("plan", &["--json", "plan.json"]);
        scene.json("plan.json")["memory"]["reserved_bytes"]["predicted"]
            .as_u64()
            .unwrap()
    };
    let set = format!("memory.budget={}", needed - 256);
    let output = scene.headroom("run", &["--set", &set, "--json", "out.json"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    for part in [
        "out of memory",
        "at node",
        "phase",
        "weights",
        "The largest values",
        "What would fit",
        "--set techniques.accumulate=",
    ] {
        assert!(message.contains(part), "{part} is missing in:\n{message}");
    }
    assert_eq!(scene.json("out.json")["steps"], 0);
    // The advice is true.
    let output = scene.headroom("run", &["--set", &set, "--set", "techniques.accumulate=2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Not even the weights fit: the report holds the plan.
    let budget = ["--set", "memory.budget=16KiB", "--json", "none.json"];
    let output = scene.headroom("run", &budget);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("before the first step"), "{message}");
    let report = scene.json("none.json");
    assert_eq!(report["steps"], 0);
    assert_eq!(
        report["memory"]["reserved_bytes"]["predicted"], needed,
        "the plan is the same with and without a budget"
    );
    assert!(report["memory"]["reserved_bytes"]["measured"].is_null());
}

/// Neither a pipe nor the target of a link is replaced by a file; the experiment and other reports are never.
#[test]
#[cfg(unix)]
fn reports_go_into_pipes_and_through_links_and_never_over_each_other() {
    let scene = Scene::new(SMALL);
    std::fs::write(scene.path("real.json"), "old").unwrap();
    std::os::unix::fs::symlink("real.json", scene.path("link.json")).unwrap();
    let output = scene.headroom("plan", &["--json", "link.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        std::fs::symlink_metadata(scene.path("link.json"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(scene.json("real.json")["schema"], 1);

    let made = std::process::Command::new("mkfifo")
        .arg(scene.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let pipe = scene.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
    let output = scene.headroom("plan", &["--json", "pipe"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let through: serde_json::Value = serde_json::from_slice(&reader.join().unwrap()).unwrap();
    assert_eq!(through["schema"], 1);

    for arguments in [
        ["--json", "experiment.toml", "--csv", "a"],
        ["--json", "a", "--csv", "./a"],
    ] {
        let output = scene.headroom("run", &arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains("is this file too"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(
        std::fs::read_to_string(scene.path("experiment.toml")).unwrap(),
        SMALL
    );
}

#[test]
fn evaluations_along_the_way_are_in_the_report() {
    let scene = Scene::new(SMALL);
    let sets = [
        "--engine",
        "cpu",
        "--set",
        "train.evaluate_every=2",
        "--json",
        "out.json",
    ];
    let output = scene.headroom("run", &sets);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = scene.json("out.json");
    let updates: Vec<u64> = report["evaluations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["updates"].as_u64().unwrap())
        .collect();
    assert_eq!(updates, [2, 4, 5]);
    assert_eq!(
        report["evaluations"][2]["test_accuracy"],
        report["metrics"]["test_accuracy"]
    );
}

#[test]
fn what_does_not_suit_the_data_is_adapted_and_said() {
    let text = SMALL.replace(
        "steps = 5",
        "epochs = 1\nschedule = { kind = \"cosine\", warmup = 20 }",
    );
    let scene = Scene::new(&text);
    let output = scene.headroom(
        "run",
        &[
            "--engine",
            "cpu",
            "--set",
            "data.batch=20000",
            "--json",
            "out.json",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "warning:",
        "data.batch = 20000",
        "9000",
        "train.schedule.warmup = 20",
        "cut to 0",
    ] {
        assert!(
            stderr(&output).contains(part),
            "{part} is missing in {}",
            stderr(&output)
        );
    }
    assert_eq!(
        scene.json("out.json")["experiment"]["train"]["schedule"]["warmup"],
        0
    );
}

#[test]
fn a_plan_says_whether_it_fits_its_budget() {
    let scene = Scene::new(SMALL);
    let fits = stdout(&scene.headroom("plan", &["--set", "memory.budget=1GiB"]));
    assert!(
        fits.contains("It fits the budget of 1.00 GiB") || fits.contains("It fits the budget"),
        "{fits}"
    );
    let misses = stdout(&scene.headroom("plan", &["--set", "memory.budget=300KiB"]));
    assert!(
        misses.contains("does not fit the budget") && misses.contains("bytes are missing"),
        "{misses}"
    );
}

/// An interrupt ends the training between two updates, with a report of what was done.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_a_report() {
    let scene = Scene::new(SMALL);
    let sets = [
        "--engine",
        "cpu",
        "--set",
        "train.steps=1000000",
        "--json",
        "out.json",
    ];
    let mut child = scene
        .command("run", &sets)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(scene.json("out.json")["steps"].as_u64().unwrap() > 0);
}

#[test]
fn a_diverged_training_exits_with_5() {
    let scene = Scene::new(&SMALL.replace(
        "{ kind = \"adamw\", lr = 1e-3 }",
        "{ kind = \"sgd\", lr = 1e30 }",
    ));
    let output = scene.headroom("run", &["--json", "out.json"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("train.optimizer.lr"));
}

/// GP-06 (d): without an adapter the CPU engine trains and says so; asked for the GPU, it is exit code 4.
#[test]
#[cfg(target_os = "linux")]
fn without_an_adapter_the_cpu_trains_and_says_so() {
    let scene = Scene::new(SMALL);
    let output = scene
        .command("run", &["--json", "out.json"])
        .envs(NO_ADAPTER)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("warning: No usable graphics adapter"),
        "{}",
        stderr(&output)
    );
    assert_eq!(scene.json("out.json")["engine"]["kind"], "cpu");
    let output = scene
        .command("run", &["--engine", "gpu"])
        .envs(NO_ADAPTER)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("--engine cpu"));
}

#[test]
fn the_adapter_list_names_backend_limits_and_chosen_kernels() {
    let output = headroom().args(["gpu", "--json", "-"]).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &all[0];
    assert_eq!(first["preferred"], true, "{all}");
    for field in [
        "adapter",
        "backend",
        "device_type",
        "driver",
        "features",
        "max_binding_bytes",
        "matmul",
    ] {
        assert!(first.get(field).is_some(), "{field} is missing in {first}");
    }
    let text = stdout(&headroom().arg("gpu").output().unwrap());
    assert!(
        text.contains("used for training") && text.contains("matmul_"),
        "{text}"
    );
}

/// Without a display the app says what to use instead.
#[test]
#[cfg(target_os = "linux")]
fn without_a_display_the_app_names_run_and_exits_with_2() {
    let mut program = headroom();
    program
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET");
    let output = program.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("headroom run"),
        "{}",
        stderr(&output)
    );
}
