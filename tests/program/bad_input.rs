//! Bad input ends with exit code 2 and one message that names the field or file, the value, and what to do.

use crate::{SMALL, Scene, headroom, stderr};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use std::path::Path;

fn refused(text: &str, sets: &[&str], parts: &[&str]) {
    let scene = Scene::new(text);
    let mut rest = vec!["--engine", "cpu"];
    for set in sets {
        rest.extend(["--set", set]);
    }
    expect_refusal(&scene.headroom("run", &rest), parts);
}

fn expect_refusal(output: &std::process::Output, parts: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
    assert_eq!(
        message.matches("error:").count(),
        1,
        "one message, not:\n{message}"
    );
    assert!(!message.contains("panicked"), "{message}");
    assert!(output.stdout.is_empty(), "nothing on standard output");
}

#[test]
fn an_unknown_field_is_named_with_the_allowed_ones() {
    refused(
        &SMALL.replace("batch = 32", "batch = 32\nbatchsize = 3"),
        &[],
        &["data.batchsize", "batch", "experiment.toml"],
    );
}

#[test]
fn a_wrong_type_is_named_with_its_value() {
    refused(
        &SMALL.replace("batch = 32", "batch = \"many\""),
        &[],
        &["data.batch", "many"],
    );
}

#[test]
fn a_batch_of_0_and_0_steps_are_refused_together() {
    refused(
        SMALL,
        &["data.batch=0", "train.steps=0"],
        &["data.batch", "train.steps", "0"],
    );
}

#[test]
fn an_unknown_optimizer_is_named_with_the_known_ones() {
    refused(
        &SMALL.replace("adamw", "adamwow"),
        &[],
        &[
            "train.optimizer.kind",
            "adamwow",
            "sgd",
            "momentum",
            "adamw",
        ],
    );
}

#[test]
fn a_negative_learning_rate_is_refused() {
    refused(
        &SMALL.replace("lr = 1e-3", "lr = -0.5"),
        &[],
        &["train.optimizer.lr", "-0.5"],
    );
}

#[test]
fn a_budget_in_bananas_is_refused_with_an_example() {
    refused(
        SMALL,
        &["memory.budget=8 bananas"],
        &["memory.budget", "8 bananas", "MiB"],
    );
}

#[test]
fn a_missing_experiment_is_named() {
    let output = headroom()
        .args(["run", "no-such-file.toml"])
        .output()
        .unwrap();
    expect_refusal(&output, &["no-such-file.toml"]);
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_training() {
    let scene = Scene::new(SMALL);
    let started = std::time::Instant::now();
    let output = scene.headroom(
        "run",
        &[
            "--set",
            "train.steps=100000",
            "--json",
            "no/such/folder/out.json",
        ],
    );
    expect_refusal(&output, &["no/such/folder/out.json"]);
    assert!(started.elapsed().as_secs() < 20, "it trained first");
}

#[test]
fn only_json_goes_to_standard_output() {
    let scene = Scene::new(SMALL);
    for option in ["--csv", "--png"] {
        let output = scene.headroom("run", &["--engine", "cpu", option, "-"]);
        expect_refusal(&output, &["--json", "name a file"]);
    }
    assert!(!scene.path("-").exists());
}

#[test]
fn a_list_of_claims_that_cannot_be_written_is_refused_before_the_training() {
    let started = std::time::Instant::now();
    let output = headroom()
        .args(["lesson", "check", "--json", "no/such/folder/claims.json"])
        .output()
        .unwrap();
    expect_refusal(&output, &["no/such/folder/claims.json"]);
    assert!(started.elapsed().as_secs() < 5, "it trained first");
}

#[test]
fn an_unknown_lesson_is_named_with_those_there_are() {
    let output = headroom().args(["lesson", "check", "99-all"]).output();
    expect_refusal(&output.unwrap(), &["99-all", "01-where-memory-goes"]);
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [
        vec!["runn"],
        vec!["run"],
        vec!["run", "x.toml", "--engine", "abacus"],
        vec!["plan", "--nope"],
    ] {
        let output = headroom().args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

/// Four small IDX files that are right, of which each test breaks one.
struct DataFolder(tempfile::TempDir);

impl DataFolder {
    fn new() -> Self {
        let data = Self(tempfile::tempdir().unwrap());
        for (part, n) in [("train", 20u32), ("t10k", 10)] {
            data.write(&format!("{part}-images-idx3-ubyte"), &images(0x803, n));
            data.write(&format!("{part}-labels-idx1-ubyte"), &labels(0x801, n, 9));
        }
        data
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.0.path().join(name)).unwrap();
    }

    fn refused(&self, parts: &[&str]) {
        refused(
            SMALL,
            &[&format!("data.path={}", Path::display(self.0.path()))],
            parts,
        );
    }
}

fn images(magic: u32, n: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [magic, n, 28, 28]
        .iter()
        .flat_map(|w| w.to_be_bytes())
        .collect();
    bytes.extend((0..n * 784).map(|i| (i % 251) as u8));
    bytes
}

fn labels(magic: u32, n: u32, last: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = [magic, n].iter().flat_map(|w| w.to_be_bytes()).collect();
    bytes.extend((0..n).map(|i| if i + 1 == n { last } else { (i % 10) as u8 }));
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_folder_of_right_files_is_read_plain_and_gzipped() {
    let data = DataFolder::new();
    data.write("t10k-images-idx3-ubyte", &gzipped(&images(0x803, 10)));
    let scene = Scene::new(SMALL);
    let set = format!("data.path={}", data.0.path().display());
    let output = scene.headroom("run", &["--engine", "cpu", "--set", &set]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_missing_data_file_is_named() {
    let data = DataFolder::new();
    data.remove("train-labels-idx1-ubyte");
    data.refused(&["train-labels-idx1-ubyte"]);
}

#[test]
fn a_truncated_gzip_is_named() {
    let data = DataFolder::new();
    let whole = gzipped(&images(0x803, 20));
    data.write("train-images-idx3-ubyte", &whole[..whole.len() / 2]);
    data.refused(&["train-images-idx3-ubyte"]);
}

#[test]
fn a_truncated_plain_file_is_named() {
    let data = DataFolder::new();
    data.write("train-images-idx3-ubyte", &images(0x803, 20)[..5000]);
    data.refused(&["train-images-idx3-ubyte"]);
}

#[test]
fn a_wrong_magic_number_is_named_with_the_right_one() {
    let data = DataFolder::new();
    data.write("train-images-idx3-ubyte", &images(0x802, 20));
    data.refused(&["train-images-idx3-ubyte", "802", "803"]);
}

#[test]
fn a_count_mismatch_is_named_with_both_counts() {
    let data = DataFolder::new();
    data.write("train-labels-idx1-ubyte", &labels(0x801, 19, 9));
    data.refused(&["20", "19"]);
}

#[test]
fn a_label_out_of_range_is_named_with_its_place() {
    let data = DataFolder::new();
    data.write("train-labels-idx1-ubyte", &labels(0x801, 20, 10));
    data.refused(&["train-labels-idx1-ubyte", "19", "10"]);
}
