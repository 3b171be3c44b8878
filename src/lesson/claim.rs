//! `claims.toml`: the numbers a lesson states, each with the sentence that states it and the report fields behind it.

use super::LessonError;
use serde::Deserialize;
use std::fmt;
use toml::{Table, Value};

/// A number of the text that runs have to bear out.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The words of the lesson that make the claim.
    pub sentence: String,
    /// What has to hold.
    pub test: Test,
}

/// What has to hold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// A field is exactly a number, or exactly what another field is. One of the two is given.
    Equal {
        /// The field.
        of: Place,
        /// The number.
        number: Option<u64>,
        /// The other field.
        to: Option<Place>,
    },
    /// One field divided by another lies between two bounds, both included.
    Ratio {
        /// The field on top.
        of: Place,
        /// The field below.
        to: Place,
        /// The least that passes.
        min: f64,
        /// The most that passes.
        max: f64,
    },
    /// A field is at least a number.
    AtLeast {
        /// The field.
        of: Place,
        /// The least that passes.
        min: f64,
    },
}

/// A field in the report of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The variant that is run.
    pub variant: String,
    /// Names down into the JSON of its report, joined by dots.
    pub field: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.field, self.variant)
    }
}

/// Reads the claims of `lesson` out of the text of its file.
pub(super) fn read(lesson: &str, text: &str) -> Result<Vec<Claim>, LessonError> {
    let refuse = |reason: String| LessonError::Claims {
        lesson: lesson.into(),
        reason,
    };
    let mut file: Table =
        toml::from_str(text).map_err(|error| refuse(error.to_string().trim_end().into()))?;
    let Some(Value::Array(entries)) = file.remove("claim") else {
        return Err(refuse(
            "write each claim under a line [[claim]]; there is none".into(),
        ));
    };
    if let Some(other) = file.keys().next() {
        return Err(refuse(format!(
            "unknown field \"{other}\"; only [[claim]] stands at the top"
        )));
    }
    let numbered = entries.into_iter().enumerate();
    let claims = numbered.map(|(index, entry)| {
        claim(entry).map_err(|reason| refuse(format!("claim {}: {reason}", index + 1)))
    });
    claims.collect()
}

fn claim(entry: Value) -> Result<Claim, String> {
    let Value::Table(mut table) = entry else {
        return Err(format!("found {entry}, expected the fields of a claim"));
    };
    let sentence = match table.remove("sentence") {
        Some(Value::String(text)) if !text.trim().is_empty() => text,
        Some(other) => {
            return Err(format!(
                "sentence = {other}: expected words of the lesson, in quotes"
            ));
        }
        None => return Err("sentence: is missing; quote the words of the lesson".into()),
    };
    let test: Test = table
        .try_into()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    test.validate()?;
    Ok(Claim { sentence, test })
}

impl Test {
    /// The fields it compares.
    pub fn places(&self) -> Vec<&Place> {
        match self {
            Self::Equal { of, to, .. } => std::iter::once(of).chain(to).collect(),
            Self::Ratio { of, to, .. } => vec![of, to],
            Self::AtLeast { of, .. } => vec![of],
        }
    }

    /// Refuses bounds that nothing or everything would pass.
    fn validate(&self) -> Result<(), String> {
        match self {
            Self::Equal {
                number: None,
                to: None,
                ..
            } => Err("equal: give the expected number, or the field to compare with in to".into()),
            Self::Equal {
                number: Some(number),
                to: Some(to),
                ..
            } => Err(format!(
                "equal: number = {number} and to = {to} are both given; keep one"
            )),
            Self::Ratio { min, max, .. }
                if !(min.is_finite() && max.is_finite() && *min > 0.0 && min <= max) =>
            {
                Err(format!(
                    "ratio: min = {min}, max = {max}: expected finite bounds with 0 < min <= max"
                ))
            }
            Self::AtLeast { min, .. } if !min.is_finite() => {
                Err(format!("at_least: min = {min}: expected a finite number"))
            }
            _ => Ok(()),
        }
    }
}
