//! The files of the repository as git sees them, or as they lie on disk where there is no git.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every text file of the repository.
pub(crate) struct Repository {
    root: PathBuf,
    paths: Vec<String>,
    /// Sorted by path; files that are no UTF-8 text are left out.
    pub(crate) files: Vec<File>,
}

/// One file: its path from the root with forward slashes, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// True if the name ends in `.extension`.
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, found)| found == extension)
    }
}

impl Repository {
    /// Reads the repository this test was compiled from.
    pub(crate) fn open() -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut paths = git_files(&root).unwrap_or_else(|| disk_files(&root));
        paths.sort();
        paths.dedup();
        let read = |path: &String| {
            std::fs::read_to_string(root.join(path))
                .ok()
                .map(|text| File {
                    path: path.clone(),
                    text,
                })
        };
        let files = paths.iter().filter_map(read).collect();
        Self { root, paths, files }
    }

    /// The text of a file that has to be there.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The names at the top of the repository, without dotfiles.
    pub(crate) fn root_entries(&self) -> BTreeSet<String> {
        let tops = self
            .paths
            .iter()
            .map(|path| path.split('/').next().unwrap_or_default());
        tops.filter(|name| !name.starts_with('.'))
            .map(str::to_owned)
            .collect()
    }

    /// The modules of the crate: `units`, `engine`, and folders below such as `engine/gpu`.
    pub(crate) fn modules(&self) -> BTreeSet<String> {
        let mut modules = BTreeSet::new();
        for path in self.files.iter().filter(|file| file.is("rs")) {
            let Some(inside) = path.path.strip_prefix("src/") else {
                continue;
            };
            match inside.rsplit_once('/') {
                Some((folder, _)) => {
                    let mut part = folder;
                    modules.insert(part.to_owned());
                    while let Some((parent, _)) = part.rsplit_once('/') {
                        modules.insert(parent.to_owned());
                        part = parent;
                    }
                }
                None if inside != "lib.rs" && inside != "main.rs" => {
                    modules.insert(inside.trim_end_matches(".rs").to_owned());
                }
                None => {}
            }
        }
        modules
    }
}

/// Tracked files and new ones that are not ignored; `None` where this is no git checkout.
fn git_files(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git")
        .current_dir(root)
        .args(arguments)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).ok()?;
    // A file deleted but not yet committed is still listed.
    Some(
        text.lines()
            .filter(|path| root.join(path).exists())
            .map(str::to_owned)
            .collect(),
    )
}

/// All files below `root`, without what builds leave behind.
fn disk_files(root: &Path) -> Vec<String> {
    let is_left_behind = |name: &str| {
        name == ".git" || name == "node_modules" || name == "dist" || name.starts_with("target")
    };
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries.flatten() {
            let path = entry.path();
            if is_left_behind(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}

#[test]
fn git_and_disk_see_the_same_library() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let library = |paths: Vec<String>| -> BTreeSet<String> {
        paths
            .into_iter()
            .filter(|path| path.starts_with("src/"))
            .collect()
    };
    let on_disk = library(disk_files(&root));
    assert!(on_disk.contains("src/lib.rs"), "{on_disk:?}");
    if let Some(tracked) = git_files(&root) {
        assert_eq!(
            library(tracked),
            on_disk,
            "a source file is ignored by git, or git lists one that is gone"
        );
    }
}
