//! Report files: JSON, CSV of the curve, PNG of the timeline. A file is written beside its place and renamed, so that an
//! earlier one is whole until the new one is. What is no plain file, such as a pipe or a device, is written into.

use super::{Report, picture};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A report file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the {what} cannot be written: {reason}: {path}")]
pub struct WriteError {
    what: &'static str,
    path: String,
    reason: String,
}

/// Checks that no two of `paths` mean one file: the later would replace the earlier.
///
/// # Errors
/// [`WriteError`] that names both.
pub fn check_distinct(paths: &[(&'static str, &Path)]) -> Result<(), WriteError> {
    for (index, (what, path)) in paths.iter().enumerate() {
        let mut earlier = paths[..index].iter();
        if let Some((other, _)) = earlier.find(|(_, other)| target(other) == target(path)) {
            let reason = format!("the {other} is this file too; name another");
            return Err(error(what, path, reason));
        }
    }
    Ok(())
}

/// Checks that a file can be made at `path`, before a training that would end in it.
///
/// # Errors
/// [`WriteError`] if its folder does not exist or does not take a file.
pub fn check_writable(what: &'static str, path: &Path) -> Result<(), WriteError> {
    if path.as_os_str() == "-" {
        let reason =
            "only --json goes to standard output; name a file, or ./- for one of this name";
        return Err(error(what, path, reason));
    }
    if path.is_dir() {
        return Err(error(what, path, "this is a folder; name a file"));
    }
    let target = target(path);
    if is_special(&target) {
        // Opening a pipe would wait for its reader, and a probe would reach it.
        return Ok(());
    }
    let probe = beside(&target);
    std::fs::write(&probe, []).map_err(|e| error(what, path, e))?;
    std::fs::remove_file(&probe).map_err(|e| error(what, path, e))
}

/// A report as indented JSON with a line feed at its end.
///
/// # Errors
/// Never for a report that Headroom made.
pub fn to_json(report: &Report) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// Writes the loss curve: `update,loss` and a line per update.
///
/// # Errors
/// [`WriteError`].
pub fn write_csv(report: &Report, path: &Path) -> Result<(), WriteError> {
    let mut text = String::from("update,loss\n");
    for (update, loss) in report.loss.iter().flat_map(|l| &l.curve) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{update},{loss}");
    }
    write("CSV curve", path, text.as_bytes())
}

/// Writes a picture of the memory timeline.
///
/// # Errors
/// [`WriteError`].
pub fn write_png(report: &Report, path: &Path) -> Result<(), WriteError> {
    let name = format!("headroom.{}.png", std::process::id());
    let drawing = std::env::temp_dir().join(name);
    picture::draw(report, &drawing).map_err(|e| error("PNG picture", path, e))?;
    let bytes = std::fs::read(&drawing).map_err(|e| error("PNG picture", path, e))?;
    // A drawing that stays behind in the folder for temporary files harms nobody.
    let _ = std::fs::remove_file(&drawing);
    write("PNG picture", path, &bytes)
}

/// Writes any text.
///
/// # Errors
/// [`WriteError`].
pub fn write_text(what: &'static str, path: &Path, text: &str) -> Result<(), WriteError> {
    write(what, path, text.as_bytes())
}

fn write(what: &'static str, path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let target = target(path);
    if is_special(&target) {
        return std::fs::write(&target, bytes).map_err(|e| error(what, path, e));
    }
    let temporary = beside(&target);
    std::fs::write(&temporary, bytes).map_err(|e| error(what, path, e))?;
    std::fs::rename(&temporary, &target).map_err(|e| error(what, path, e))
}

/// The file that `path` means: what a link points to, in a folder named from the root.
fn target(path: &Path) -> PathBuf {
    let whole = path.canonicalize();
    whole.unwrap_or_else(|_| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    })
}

/// Whether something is there that is no plain file.
fn is_special(target: &Path) -> bool {
    target.metadata().is_ok_and(|found| !found.is_file())
}

/// A name in the same folder that no other run uses.
fn beside(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or("report");
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn error(what: &'static str, path: &Path, reason: impl std::fmt::Display) -> WriteError {
    WriteError {
        what,
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}
