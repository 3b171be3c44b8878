//! The files and command-line settings an experiment is made of, laid over each other.

use super::error::{ExperimentError, Problem};
use toml::{Table, Value};

/// The name of the topmost layer where there are command-line settings.
const SETS: &str = "--set";

/// Tables from the one that is extended furthest down to the one that has the last word.
pub(super) struct Layers {
    /// Each with the file it came from.
    tables: Vec<(String, Table)>,
    /// The file that was asked for.
    origin: String,
}

impl Layers {
    /// Reads `text` and everything it extends.
    pub(super) fn read(
        text: &str,
        origin: &str,
        resolve: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ExperimentError> {
        let mut tables = Vec::new();
        let mut file = normal(origin);
        let mut table = parse(text, origin)?;
        // From the top down; each table names the one below it.
        while let Some(target) = table.remove("extends") {
            let Value::String(target) = target else {
                return Err(ExperimentError::Invalid(vec![Problem {
                    file: Some(file),
                    path: String::from("extends"),
                    found: Some(target.to_string()),
                    message: String::from("expected the path of another experiment, in quotes"),
                }]));
            };
            let below = beside(&file, &target);
            tables.push((file.clone(), table));
            check_cycle(&tables, &below)?;
            let text = resolve(&below).map_err(|reason| ExperimentError::Extends {
                file,
                target,
                resolved: below.clone(),
                reason,
            })?;
            table = parse(&text, &below)?;
            file = below;
        }
        tables.push((file, table));
        tables.reverse();
        let origin = normal(origin);
        Ok(Self { tables, origin })
    }

    /// Adds the settings `a.b=value` as one more layer. Among settings of one field the last counts.
    pub(super) fn push_sets(&mut self, sets: &[String]) -> Result<(), ExperimentError> {
        let mut overlay = Table::new();
        for text in sets {
            let refuse = |reason: &str| ExperimentError::Set {
                text: text.clone(),
                reason: reason.to_owned(),
            };
            let (path, value) = text
                .split_once('=')
                .ok_or_else(|| refuse("there is no \"=\" in it"))?;
            let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
            if keys.iter().any(|key| key.is_empty()) {
                return Err(refuse("the field has an empty name"));
            }
            if !insert(&mut overlay, &keys, setting(value.trim())) {
                return Err(refuse("another --set gives one of its sections a value"));
            }
        }
        if !overlay.is_empty() {
            self.tables.push((SETS.to_owned(), overlay));
        }
        Ok(())
    }

    /// All layers as one table.
    pub(super) fn merged(&self) -> Table {
        let mut merged = Table::new();
        for (_, table) in &self.tables {
            merge(&mut merged, table);
            shorten_warmup(&mut merged, table);
        }
        merged
    }

    /// Says for each problem which file the value stands in: the topmost one that has the field.
    pub(super) fn name_files(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            let owner = self
                .tables
                .iter()
                .rev()
                .find(|(_, table)| find(table, &problem.path).is_some());
            let file = owner.map_or(&self.origin, |(file, _)| file);
            problem.file = Some(file.clone());
        }
        problems
    }
}

/// Reads a file of the machine this runs on; the reason where there is none.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn read_file(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// A page has no files.
#[cfg(target_arch = "wasm32")]
pub(super) fn read_file(_path: &str) -> Result<String, String> {
    Err("a browser page has no files".into())
}

/// Lays `above` over `below`: tables field by field, everything else as a whole.
fn merge(below: &mut Table, above: &Table) {
    // The length of a run is one choice with two spellings.
    for (given, other) in [("steps", "epochs"), ("epochs", "steps")] {
        if above.contains_key(given) && !above.contains_key(other) {
            below.remove(other);
        }
    }
    // What only some data sets use belongs to the set that is replaced.
    if let (Some(old), Some(new)) = (below.get("source"), above.get("source"))
        && old != new
    {
        for field in ["path", "validation", "tokenizer", "size", "label"] {
            below.remove(field);
        }
    }
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => {
                if changes_kind(old, new) {
                    // The other fields belong to the kind that is replaced.
                    old.clear();
                }
                merge(old, new);
            }
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Cuts an inherited warm-up to the length of the run where `above` gives a new length and says nothing of the warm-up:
/// a run that is made shorter to try something out would otherwise be refused.
fn shorten_warmup(merged: &mut Table, above: &Table) {
    let Some(Value::Integer(steps)) = find(above, "train.steps") else {
        return;
    };
    if *steps < 1 || find(above, "train.schedule.warmup").is_some() {
        return;
    }
    if let Some(Value::Table(train)) = merged.get_mut("train")
        && let Some(Value::Table(schedule)) = train.get_mut("schedule")
        && let Some(Value::Integer(warmup)) = schedule.get_mut("warmup")
    {
        *warmup = (*warmup).min(*steps);
    }
}

fn changes_kind(old: &Table, new: &Table) -> bool {
    match (old.get("kind"), new.get("kind")) {
        (Some(old), Some(new)) => old != new,
        _ => false,
    }
}

fn parse(text: &str, file: &str) -> Result<Table, ExperimentError> {
    text.parse::<Table>()
        .map_err(|error| ExperimentError::Syntax {
            file: file.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })
}

/// The value of a setting: TOML if it is TOML, else the text itself.
fn setting(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    match parsed.map(|mut table| (table.remove("value"), table.is_empty())) {
        // A line break in the text could have added fields.
        Ok((Some(value), true)) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Puts `value` at the path `keys`; false where a part of the path is already a plain value.
fn insert(table: &mut Table, keys: &[&str], value: Value) -> bool {
    match keys {
        [] => false,
        [key] => {
            table.insert((*key).to_owned(), value);
            true
        }
        [key, rest @ ..] => {
            let child = table
                .entry(*key)
                .or_insert_with(|| Value::Table(Table::new()));
            match child {
                Value::Table(child) => insert(child, rest, value),
                _ => false,
            }
        }
    }
}

/// The value of the field `path`. An index such as `[2]` counts with its list.
fn find<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    let path = path.split('[').next().unwrap_or(path);
    match path.split_once('.') {
        None => table.get(path),
        Some((key, rest)) => match table.get(key) {
            Some(Value::Table(child)) => find(child, rest),
            _ => None,
        },
    }
}

fn check_cycle(tables: &[(String, Table)], below: &str) -> Result<(), ExperimentError> {
    let Some(start) = tables.iter().position(|(file, _)| file == below) else {
        return Ok(());
    };
    let files = tables.iter().skip(start).map(|(file, _)| file.as_str());
    let chain: Vec<&str> = files.chain([below]).collect();
    Err(ExperimentError::Cycle {
        chain: chain.join(" -> "),
    })
}

/// The path `target` as seen from the folder of `file`.
fn beside(file: &str, target: &str) -> String {
    let absolute = target.starts_with(['/', '\\']) || target.get(1..2) == Some(":");
    match file.rfind(['/', '\\']) {
        Some(end) if !absolute => normal(&format!("{}{target}", &file[..=end])),
        _ => normal(target),
    }
}

/// The path without `.` and `name/..`, so that one file has one name and a circle is seen.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            // The empty part in front of an absolute path stays.
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !["", ".."].contains(last)) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_file_that_names_them() {
        for (file, target, expected) in [
            ("a/b.toml", "base.toml", "a/base.toml"),
            ("b.toml", "base.toml", "base.toml"),
            ("./a/b.toml", "../c/d.toml", "c/d.toml"),
            ("../a/b.toml", "./../../d.toml", "../../d.toml"),
            ("/x/y/b.toml", "../d.toml", "/x/d.toml"),
            ("/x/b.toml", "/etc/d.toml", "/etc/d.toml"),
            ("a//b.toml", "d.toml", "a/d.toml"),
        ] {
            assert_eq!(beside(&normal(file), target), expected, "{file} {target}");
        }
    }

    #[test]
    fn settings_are_toml_or_else_text() {
        for (text, expected) in [
            ("20", Value::Integer(20)),
            ("1e-3", Value::Float(1e-3)),
            ("true", Value::Boolean(true)),
            ("\"7\"", Value::String("7".into())),
            ("8MiB", Value::String("8MiB".into())),
            ("/tmp/data set", Value::String("/tmp/data set".into())),
            ("", Value::String(String::new())),
            ("1\nx = 2", Value::String("1\nx = 2".into())),
            ("[1, 2]", Value::Array(vec![1.into(), 2.into()])),
        ] {
            assert_eq!(setting(text), expected, "{text}");
        }
    }
}
