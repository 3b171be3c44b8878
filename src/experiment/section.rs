//! Reading one table of an experiment field by field, noting every problem instead of stopping at the first.
//!
//! Deserialising with serde alone would report one problem at a time, without its path inside tagged enums, and
//! without the fields or words that are allowed.

use super::error::Problem;
use super::field::{Field, quote, suggestion, type_of};
use std::cell::RefCell;
use std::fmt::Display;
use toml::{Table, Value};

/// A table being read. Every field that is asked for counts as known; [`Section::finish`] reports the rest.
pub(super) struct Section<'a> {
    path: String,
    table: Option<&'a Table>,
    problems: &'a Problems,
    known: Vec<&'static str>,
    /// The word chosen for `kind`, for messages.
    kind: Option<&'static str>,
    /// Set where the place of this table holds something else: what is missing in it is then no news.
    broken: bool,
}

/// The words a field may have.
pub(super) struct Choices<T: 'static> {
    /// Each word with its meaning.
    pub(super) allowed: &'static [(&'static str, T)],
    /// Words that a reader of the documentation of a later version may try.
    pub(super) later: &'static [&'static str],
}

/// The problems found so far. At most one is kept for each field: the first, which explains the others.
#[derive(Default)]
pub(super) struct Problems {
    found: RefCell<Vec<Problem>>,
}

impl<'a> Section<'a> {
    /// The outermost table.
    pub(super) fn root(table: &'a Table, problems: &'a Problems) -> Self {
        Self::new(String::new(), Some(table), false, problems)
    }

    /// The table `key`, which may be absent.
    pub(super) fn child(&mut self, key: &'static str) -> Self {
        let path = self.path_of(key);
        match self.get(key) {
            None => Self::new(path, None, self.broken, self.problems),
            Some(Value::Table(table)) => Self::new(path, Some(table), false, self.problems),
            Some(other) => {
                let message = format!("expected a table of fields, found {}", type_of(other));
                self.problems.push(&path, Some(quote(other)), message);
                Self::new(path, None, true, self.problems)
            }
        }
    }

    /// Whether there is no such table.
    pub(super) fn is_absent(&self) -> bool {
        self.table.is_none()
    }

    /// Whether something else stands in the place of this table.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The field `key`, if it is there. A value of the wrong type is reported and replaced by `stand_in`, which must
    /// pass every check, so that one mistake is one problem.
    pub(super) fn optional<T: Field>(&mut self, key: &'static str, stand_in: T) -> Option<T> {
        if self.broken {
            return Some(stand_in);
        }
        let value = self.get(key)?;
        Some(T::read(value).unwrap_or_else(|message| {
            let path = self.path_of(key);
            self.problems.push(&path, Some(quote(value)), message);
            stand_in
        }))
    }

    /// The field `key`, or `default`.
    pub(super) fn or_default<T: Field + Clone>(&mut self, key: &'static str, default: T) -> T {
        self.optional(key, default.clone()).unwrap_or(default)
    }

    /// The field `key`; its absence is reported with `what` should be there.
    pub(super) fn required<T: Field + Clone>(
        &mut self,
        key: &'static str,
        what: &str,
        stand_in: T,
    ) -> T {
        if self.get(key).is_none() {
            self.missing(key, what);
        }
        self.or_default(key, stand_in)
    }

    /// [`Section::or_default`] for a field that only some kinds use.
    pub(super) fn used_or<T: Field + Clone>(
        &mut self,
        key: &'static str,
        used: bool,
        default: T,
    ) -> T {
        if used {
            return self.or_default(key, default);
        }
        let kind = self.kind.unwrap_or_default();
        self.refuse(key, &format!("is not used by kind = \"{kind}\"; remove it"));
        default
    }

    /// Reports the field `key`, if it is there, with the `reason` why it should not be.
    pub(super) fn refuse(&self, key: &'static str, reason: &str) {
        if let Some(value) = self.table.and_then(|table| table.get(key)) {
            let path = self.path_of(key);
            self.problems
                .push(&path, Some(quote(value)), reason.to_owned());
        }
    }

    /// The word in `key`; its absence is reported.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, choices: &Choices<T>) -> Option<T> {
        if self.get(key).is_none() {
            self.missing(key, &format!("one of {}", choices.words()));
        }
        self.chosen(key, choices)
    }

    /// The word in `key`, or `default`.
    pub(super) fn choice_or<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &Choices<T>,
        default: T,
    ) -> T {
        self.chosen(key, choices).unwrap_or(default)
    }

    /// Reports every field of the table that nobody asked for.
    pub(super) fn finish(self) {
        let Some(table) = self.table else { return };
        for (key, value) in table {
            let path = self.path_of(key);
            if self.known.contains(&key.as_str()) || self.problems.has(&path) {
                continue;
            }
            let of = match self.kind {
                Some(kind) => format!(" of kind = \"{kind}\""),
                None => String::new(),
            };
            let place = match self.path.as_str() {
                "" => String::from("the experiment"),
                path => path.to_owned(),
            };
            let message = format!(
                "unknown field; {place}{of} allows {}{}",
                self.known.join(", "),
                suggestion(key, self.known.iter().copied()),
            );
            self.problems.push(&path, Some(quote(value)), message);
        }
    }

    fn new(path: String, table: Option<&'a Table>, broken: bool, problems: &'a Problems) -> Self {
        Self {
            path,
            table,
            problems,
            known: Vec::new(),
            kind: None,
            broken,
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.and_then(|table| table.get(key))
    }

    fn chosen<T: Copy>(&mut self, key: &'static str, choices: &Choices<T>) -> Option<T> {
        let value = self.get(key)?;
        let word = match value {
            Value::String(text) => text.as_str(),
            _ => "",
        };
        let Some(&(name, meaning)) = choices.allowed.iter().find(|(name, _)| *name == word) else {
            let path = self.path_of(key);
            self.problems
                .push(&path, Some(quote(value)), choices.refusal(value, word));
            return None;
        };
        if key == "kind" {
            self.kind = Some(name);
        }
        Some(meaning)
    }

    fn missing(&self, key: &str, what: &str) {
        if self.broken {
            return;
        }
        let note = match self.kind {
            // A user who only changed `kind` expects the other fields to be still there.
            Some(kind) => {
                format!(" (kind = \"{kind}\" takes no fields over from another kind it replaces)")
            }
            None => String::new(),
        };
        self.problems
            .missing(&self.path_of(key), &format!("give {what}{note}"));
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

impl<T> Choices<T> {
    fn words(&self) -> String {
        let words: Vec<_> = self.allowed.iter().map(|(name, _)| *name).collect();
        words.join(", ")
    }

    fn refusal(&self, value: &Value, word: &str) -> String {
        let words = self.words();
        if word.is_empty() {
            let found = type_of(value);
            return format!("expected one of {words}, in quotes; found {found}");
        }
        if self.later.contains(&word) {
            return format!("not available in this version; allowed: {words}");
        }
        let names = self.allowed.iter().map(|(name, _)| *name);
        format!("unknown; allowed: {words}{}", suggestion(word, names))
    }
}

impl Problems {
    /// Notes that the field `path` is not there, and what to `write`.
    pub(super) fn missing(&self, path: &str, write: &str) {
        self.push(path, None, format!("is missing; {write}"));
    }

    /// Notes that the field `path` has a value outside what is `allowed`.
    pub(super) fn value(&self, path: &str, found: impl Display, allowed: &str) {
        self.push(path, Some(found.to_string()), allowed.to_owned());
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.found.into_inner()
    }

    fn has(&self, path: &str) -> bool {
        self.found.borrow().iter().any(|known| known.path == path)
    }

    fn push(&self, path: &str, found: Option<String>, message: String) {
        if !self.has(path) {
            self.found.borrow_mut().push(Problem {
                file: None,
                path: path.to_owned(),
                found,
                message,
            });
        }
    }
}
