//! What can be wrong with a lesson, and with what is asked of one.

use crate::experiment::ExperimentError;

/// A lesson could not be found, read or checked.
#[derive(Debug, thiserror::Error)]
pub enum LessonError {
    /// A lesson that does not exist.
    #[error("there is no lesson \"{lesson}\"; there is {known}")]
    UnknownLesson {
        /// As asked for.
        lesson: String,
        /// The names there are.
        known: String,
    },
    /// An experiment that the lesson does not have.
    #[error("lesson {lesson} has no variant \"{variant}\"; it has {known}")]
    UnknownVariant {
        /// The lesson.
        lesson: String,
        /// As asked for.
        variant: String,
        /// The names there are.
        known: String,
    },
    /// A field that reports do not have.
    #[error("claim {claim} of lesson {lesson}: the report has no field \"{field}\"; {known}")]
    UnknownField {
        /// The lesson.
        lesson: String,
        /// Number of the claim in its file, from 1.
        claim: usize,
        /// As asked for.
        field: String,
        /// What there is instead.
        known: String,
    },
    /// A field that holds nothing to compare.
    #[error("claim {claim} of lesson {lesson}: {place} is {found} and no number")]
    NoNumber {
        /// The lesson.
        lesson: String,
        /// Number of the claim in its file, from 1.
        claim: usize,
        /// Variant and field.
        place: String,
        /// What is there.
        found: String,
    },
    /// The claims cannot be read.
    #[error("lessons/{lesson}/claims.toml: {reason}")]
    Claims {
        /// The lesson.
        lesson: String,
        /// Which claim and which field, and what is allowed.
        reason: String,
    },
    /// An experiment of the lesson is not valid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// An experiment of the lesson did not run to its end.
    #[error("lesson {lesson}, variant {variant}: {reason}")]
    Run {
        /// The lesson.
        lesson: String,
        /// The variant.
        variant: String,
        /// What went wrong.
        reason: String,
    },
}

/// `a, b, c` for messages.
pub(super) fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
