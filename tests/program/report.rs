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
