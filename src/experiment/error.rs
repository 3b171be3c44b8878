//! What can be wrong with an experiment, in words a user can act on.

use std::fmt;

/// Why an experiment could not be read. All of these are bad input.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file that is not there or cannot be read.
    #[error("cannot read the experiment {file}: {reason}")]
    Read {
        /// Path or name of the file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// `extends` names a file that cannot be read.
    #[error(
        "{file}: extends = \"{target}\": cannot read {resolved}: {reason}; the path is relative to the file that names it"
    )]
    Extends {
        /// The file with the field.
        file: String,
        /// What the field says.
        target: String,
        /// Where that was looked for.
        resolved: String,
        /// What the system says.
        reason: String,
    },
    /// Files that extend each other in a ring.
    #[error("extends goes round in a circle: {chain}; remove one of these lines")]
    Cycle {
        /// The files in order, the first one again at the end.
        chain: String,
    },
    /// Text that is not TOML.
    #[error("{file} is not valid TOML: {reason}")]
    Syntax {
        /// Path or name of the file.
        file: String,
        /// Line, column and cause.
        reason: String,
    },
    /// A setting of the command line without the form `a.b=value`.
    #[error("--set {text}: {reason}; write --set FIELD=VALUE, for example --set train.steps=20")]
    Set {
        /// The setting as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Fields that are unknown, missing, of the wrong type or out of range.
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
    /// An experiment with a number that TOML cannot hold.
    #[error("the experiment cannot be written as TOML: {reason}")]
    Write {
        /// What the writer says.
        reason: String,
    },
}

/// One field that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file the value stands in, if it came from one; `--set` for the command line.
    pub file: Option<String>,
    /// The field with its sections, for example `train.optimizer.lr`.
    pub path: String,
    /// The value as written, or nothing for a missing field.
    pub found: Option<String>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        match &self.found {
            Some(found) => write!(f, "{} = {found}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// One problem on one line; more of them counted and then one to a line.
fn list(problems: &[Problem]) -> String {
    if let [only] = problems {
        return only.to_string();
    }
    let mut text = format!("{} problems in the experiment", problems.len());
    for problem in problems {
        text.push_str(&format!("\n  {problem}"));
    }
    text
}
