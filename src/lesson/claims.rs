//! Claims: numbers a lesson states, each checked against real runs.

use super::{Lesson, LessonError, Variant};
use crate::experiment::Experiment;
use crate::report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The file `claims.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsFile {
    claim: Vec<Claim>,
}

/// One claim. `field` and `against` are paths into the JSON report, with dots.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Claim {
    /// A number of bytes is exactly `value`, or exactly what stands at `against` in the same report.
    Equal {
        says: String,
        variant: String,
        field: String,
        value: Option<u64>,
        against: Option<String>,
    },
    /// A field of `variant` divided by the same field of `to` lies between both bounds.
    Ratio {
        says: String,
        variant: String,
        to: String,
        field: String,
        min: f64,
        max: f64,
    },
    /// A metric is at least `min`.
    AtLeast {
        says: String,
        variant: String,
        field: String,
        min: f64,
    },
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimResult {
    /// The claim in words.
    pub sentence: String,
    /// What should be.
    pub expected: String,
    /// What is.
    pub found: String,
    /// Whether the claim holds.
    pub passed: bool,
}

/// Checks every claim of `lesson`. `run` trains an experiment and gives its report, or says why it could not; each
/// variant that a claim names is run once.
///
/// # Errors
/// [`LessonError`] if a claim cannot be read or names what there is not, or a run fails.
pub fn check(
    lesson: &Lesson,
    run: &mut dyn FnMut(&Experiment) -> Result<Report, String>,
) -> Result<Vec<ClaimResult>, LessonError> {
    let claims = read(lesson)?;
    // All names are checked before the first run, which may take minutes.
    for (index, claim) in claims.iter().enumerate() {
        for name in claim.variants() {
            variant(lesson, index, name)?;
        }
    }
    let mut reports = BTreeMap::new();
    for variant in lesson.variants {
        if claims.iter().any(|c| c.variants().contains(&variant.slug)) {
            let report = run(&variant.experiment()?)
                .and_then(|r| serde_json::to_value(r).map_err(|e| e.to_string()));
            let reason = |reason| LessonError::Run {
                lesson: lesson.slug,
                variant: variant.slug,
                reason,
            };
            reports.insert(variant.slug, report.map_err(reason)?);
        }
    }
    let results = claims.iter().enumerate().map(|(index, claim)| {
        Checker {
            lesson,
            index,
            reports: &reports,
        }
        .check(claim)
    });
    results.collect()
}

fn read(lesson: &Lesson) -> Result<Vec<Claim>, LessonError> {
    let error = |reason: String| LessonError::Claims {
        lesson: lesson.slug,
        reason,
    };
    let file: ClaimsFile = toml::from_str(lesson.claims).map_err(|e| error(e.to_string()))?;
    for (index, claim) in file.claim.iter().enumerate() {
        match claim {
            Claim::Equal { value, against, .. } if value.is_some() == against.is_some() => {
                return Err(error(format!(
                    "claim {}: give one of value and against",
                    index + 1
                )));
            }
            Claim::Ratio { min, max, .. } if min > max => {
                return Err(error(format!(
                    "claim {}: min {min} is above max {max}",
                    index + 1
                )));
            }
            _ => {}
        }
    }
    Ok(file.claim)
}

impl Claim {
    fn variants(&self) -> Vec<&str> {
        match self {
            Self::Equal { variant, .. } | Self::AtLeast { variant, .. } => vec![variant],
            Self::Ratio { variant, to, .. } => vec![variant, to],
        }
    }
}

fn variant(lesson: &Lesson, index: usize, name: &str) -> Result<&'static Variant, LessonError> {
    let found = lesson.variants.iter().find(|v| v.slug == name);
    found.ok_or_else(|| LessonError::UnknownVariant {
        lesson: lesson.slug,
        claim: index + 1,
        variant: name.into(),
        known: lesson
            .variants
            .iter()
            .map(|v| v.slug)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// One claim with the reports it is checked against.
struct Checker<'a> {
    lesson: &'a Lesson,
    index: usize,
    reports: &'a BTreeMap<&'static str, Value>,
}

impl Checker<'_> {
    fn check(&self, claim: &Claim) -> Result<ClaimResult, LessonError> {
        Ok(match claim {
            Claim::Equal {
                says,
                variant,
                field,
                value,
                against,
            } => {
                let found = self.number(variant, field)?;
                let expected = match against {
                    Some(other) => self.number(variant, other)?,
                    None => value.unwrap_or_default() as f64,
                };
                let label = against
                    .as_ref()
                    .map_or_else(String::new, |other| format!(", as {other}"));
                result(
                    says,
                    format!("exactly {expected}{label}"),
                    found,
                    found == expected,
                )
            }
            Claim::Ratio {
                says,
                variant,
                to,
                field,
                min,
                max,
            } => {
                let ratio = self.number(variant, field)? / self.number(to, field)?;
                result(
                    says,
                    format!("{min} to {max}"),
                    ratio,
                    *min <= ratio && ratio <= *max,
                )
            }
            Claim::AtLeast {
                says,
                variant,
                field,
                min,
            } => {
                let found = self.number(variant, field)?;
                result(says, format!("at least {min}"), found, found >= *min)
            }
        })
    }

    /// The number at a path of a variant's report.
    fn number(&self, variant: &str, field: &str) -> Result<f64, LessonError> {
        let mut at = self.reports.get(variant).unwrap_or(&Value::Null);
        let error = |hint: String| LessonError::UnknownField {
            lesson: self.lesson.slug,
            claim: self.index + 1,
            field: field.into(),
            hint,
        };
        for part in field.split('.') {
            let next = match at {
                Value::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get(i)),
                other => other.get(part),
            };
            at = next.ok_or_else(|| error(format!("\"{part}\" is not among: {}", names(at))))?;
        }
        at.as_f64()
            .ok_or_else(|| error(format!("there stands {at}")))
    }
}

fn names(value: &Value) -> String {
    match value {
        Value::Object(map) => map.keys().cloned().collect::<Vec<_>>().join(", "),
        Value::Array(items) => format!("0 to {}", items.len().saturating_sub(1)),
        _ => "nothing".into(),
    }
}

fn result(says: &str, expected: String, found: f64, passed: bool) -> ClaimResult {
    let found = if found.fract() == 0.0 {
        format!("{found}")
    } else {
        format!("{found:.4}")
    };
    ClaimResult {
        sentence: says.into(),
        expected,
        found,
        passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static VARIANTS: [Variant; 1] = [Variant {
        slug: "base",
        title: "b",
        path: "lessons/x/base.toml",
        toml: crate::lesson::tests::SMALL,
    }];

    fn outcome(claims: &'static str) -> Result<Vec<ClaimResult>, LessonError> {
        let lesson = Lesson {
            slug: "x",
            title: "x",
            markdown: "",
            variants: &VARIANTS,
            claims,
        };
        check(&lesson, &mut |experiment| {
            let source = crate::data::source_info("fashion-mnist").map_err(|e| e.to_string())?;
            let step = crate::step::plan(experiment, &source).map_err(|e| e.to_string())?;
            Ok(crate::report::plan_report(experiment, &source, &step))
        })
    }

    #[test]
    fn true_claims_hold_and_false_ones_do_not() {
        let results = outcome(
            "[[claim]]\nkind = \"equal\"\nsays = \"a\"\nvariant = \"base\"\nfield = \"model.parameters\"\nvalue = 7850\n\
             [[claim]]\nkind = \"equal\"\nsays = \"b\"\nvariant = \"base\"\nfield = \"model.parameters\"\nvalue = 7851\n\
             [[claim]]\nkind = \"equal\"\nsays = \"c\"\nvariant = \"base\"\nfield = \"memory.at_peak.by_class.weights\"\nagainst = \"memory.at_peak.by_class.gradients\"\n\
             [[claim]]\nkind = \"ratio\"\nsays = \"d\"\nvariant = \"base\"\nto = \"base\"\nfield = \"model.parameters\"\nmin = 1.1\nmax = 1.2\n\
             [[claim]]\nkind = \"at_least\"\nsays = \"e\"\nvariant = \"base\"\nfield = \"model.parameters\"\nmin = 7850.5\n",
        )
        .unwrap();
        assert_eq!(
            results.iter().map(|r| r.passed).collect::<Vec<_>>(),
            [true, false, true, false, false]
        );
    }

    #[test]
    fn what_a_claim_names_wrongly_is_named_with_what_there_is() {
        let cases = [
            (
                "kind = \"equal\"\nsays = \"a\"\nvariant = \"bose\"\nfield = \"steps\"\nvalue = 1",
                "bose",
            ),
            (
                "kind = \"equal\"\nsays = \"a\"\nvariant = \"base\"\nfield = \"model.params\"\nvalue = 1",
                "parameters",
            ),
            (
                "kind = \"equal\"\nsays = \"a\"\nvariant = \"base\"\nfield = \"steps\"",
                "one of value and against",
            ),
            (
                "kind = \"equal\"\nsays = \"a\"\nvariant = \"base\"\nfield = \"steps\"\nvalue = 1\nextra = 2",
                "extra",
            ),
            (
                "kind = \"ratio\"\nsays = \"a\"\nvariant = \"base\"\nto = \"base\"\nfield = \"steps\"\nmin = 1",
                "max",
            ),
            ("kind = \"about\"\nsays = \"a\"", "about"),
        ];
        for (claim, part) in cases {
            let text: &'static str = Box::leak(format!("[[claim]]\n{claim}\n").into_boxed_str());
            let message = outcome(text).unwrap_err().to_string();
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }
}
