//! Compares what a lesson claims with the reports of its experiments.

use super::claim::{Claim, Place, Test};
use super::{Lesson, LessonError, error};
use crate::experiment::Experiment;
use crate::report::Report;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether a claim holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimResult {
    /// The words of the lesson that make the claim.
    pub sentence: String,
    /// What has to hold.
    pub expected: String,
    /// What the runs gave.
    pub found: String,
    /// Whether it holds.
    pub passed: bool,
}

/// Runs each experiment that a claim of `lesson` is about once, by `run`, and judges every claim.
///
/// # Errors
/// A claim, variant or field that is not as it should be, and [`LessonError::Run`] with what `run` says. That a claim
/// does not hold is no error: see [`ClaimResult::passed`].
pub fn check(
    lesson: &Lesson,
    run: &mut dyn FnMut(&Experiment) -> Result<Report, String>,
) -> Result<Vec<ClaimResult>, LessonError> {
    let claims = lesson.claims()?;
    // Every variant is looked up before the first one runs: some take a minute.
    let mut experiments = BTreeMap::new();
    for place in claims.iter().flat_map(|claim| claim.test.places()) {
        experiments.insert(place.variant.clone(), lesson.experiment(&place.variant)?);
    }
    let mut reports = BTreeMap::new();
    for (variant, experiment) in &experiments {
        let refuse = |reason: String| LessonError::Run {
            lesson: lesson.slug.into(),
            variant: variant.clone(),
            reason,
        };
        let report = run(experiment).map_err(refuse)?;
        let json = serde_json::to_value(report).map_err(|error| refuse(error.to_string()))?;
        reports.insert(variant.as_str(), json);
    }
    let numbered = claims.iter().enumerate();
    numbered
        .map(|(index, claim)| {
            let fields = Fields {
                lesson: lesson.slug,
                claim: index + 1,
                reports: &reports,
            };
            judge(claim, &fields)
        })
        .collect()
}

/// Looks fields up on behalf of one claim.
struct Fields<'r> {
    lesson: &'r str,
    claim: usize,
    reports: &'r BTreeMap<&'r str, Value>,
}

fn judge(claim: &Claim, fields: &Fields<'_>) -> Result<ClaimResult, LessonError> {
    let (expected, found, passed) = match &claim.test {
        Test::Equal { of, number, to } => {
            let left = fields.number(of)?;
            let (expected, right) = match (number, to) {
                (Some(number), _) => (format!("{of} = {number}"), (*number).into()),
                (None, Some(to)) => {
                    let right = fields.number(to)?;
                    (format!("{of} = {to} = {right}"), right)
                }
                // Reading the claims has refused this one.
                (None, None) => (format!("{of} = a number"), Value::Null),
            };
            // As JSON numbers: bytes are compared as whole numbers, without rounding to a float.
            (expected, left.to_string(), left == right)
        }
        Test::Ratio { of, to, min, max } => {
            let ratio = as_float(&fields.number(of)?) / as_float(&fields.number(to)?);
            let bounds = if min == max {
                min.to_string()
            } else {
                format!("{min} to {max}")
            };
            let expected = format!("{of} is {bounds} times {to}");
            (
                expected,
                format!("{ratio:.4}"),
                (*min..=*max).contains(&ratio),
            )
        }
        Test::AtLeast { of, min } => {
            let found = as_float(&fields.number(of)?);
            (
                format!("{of} >= {min}"),
                format!("{found:.4}"),
                found >= *min,
            )
        }
    };
    Ok(ClaimResult {
        sentence: claim.sentence.clone(),
        expected,
        found,
        passed,
    })
}

impl Fields<'_> {
    /// The number at `place`.
    fn number(&self, place: &Place) -> Result<Value, LessonError> {
        let mut value = self
            .reports
            .get(place.variant.as_str())
            .unwrap_or(&Value::Null);
        let mut walked = String::from("the report");
        for name in place.field.split('.') {
            // Lists are counted from 0.
            let inner = match value {
                Value::Array(items) => name.parse().ok().and_then(|i: usize| items.get(i)),
                other => other.get(name),
            };
            value = inner.ok_or_else(|| LessonError::UnknownField {
                lesson: self.lesson.into(),
                claim: self.claim,
                field: place.field.clone(),
                known: match value {
                    Value::Object(fields) => {
                        format!(
                            "{walked} has {}",
                            error::names(fields.keys().map(String::as_str))
                        )
                    }
                    Value::Array(items) => {
                        format!(
                            "{walked} is a list of {} entries, the first is 0",
                            items.len()
                        )
                    }
                    other => format!("{walked} is {}", brief(other)),
                },
            })?;
            walked = name.to_owned();
        }
        match value {
            Value::Number(_) => Ok(value.clone()),
            other => Err(LessonError::NoNumber {
                lesson: self.lesson.into(),
                claim: self.claim,
                place: place.to_string(),
                found: brief(other),
            }),
        }
    }
}

/// What a value is, in a word or two: some fields hold thousands of numbers.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "unknown (null)".into(),
        Value::Object(_) => "a group of fields".into(),
        Value::Array(_) => "a list".into(),
        other => other.to_string(),
    }
}

/// A JSON number as a float; every one of them has such a form.
fn as_float(number: &Value) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}
