//! The program as its users run it: arguments in, exit code, standard output, standard error and files out.

mod bad_input;
mod data;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An experiment file in a folder of its own, with `lines` after a name.
struct Scene {
    folder: tempfile::TempDir,
}

/// A small valid experiment; `{}` stands for what a test adds to `[train]` and after it.
const SMALL: &str = "name = \"small\"\nseed = 7\n[model]\nkind = \"mlp\"\nhidden = [16]\nactivation = \"relu\"\n\
    [data]\nsource = \"fashion-mnist\"\nbatch = 32\n[train]\nsteps = 5\noptimizer = { kind = \"adamw\", lr = 1e-3 }\n";

impl Scene {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("experiment.toml"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `headroom COMMAND experiment.toml REST`.
    fn headroom(&self, command: &str, rest: &[&str]) -> Output {
        self.command(command, rest).output().unwrap()
    }

    fn command(&self, command: &str, rest: &[&str]) -> Command {
        let mut program = headroom();
        program
            .arg(command)
            .arg(self.path("experiment.toml"))
            .args(rest);
        program.current_dir(self.folder.path());
        program
    }

    fn json(&self, name: &str) -> serde_json::Value {
        read_json(&self.path(name))
    }
}

fn headroom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headroom"))
}

fn read_json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Environment in which the Vulkan loader finds no driver.
const NO_ADAPTER: [(&str, &str); 2] = [
    ("VK_ICD_FILENAMES", "/nonexistent.json"),
    ("VK_DRIVER_FILES", "/nonexistent.json"),
];
