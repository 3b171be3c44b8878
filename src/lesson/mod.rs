//! Lessons: a text, the experiments it talks about, and the numbers it claims, all of them part of the program.

mod check;
mod claim;
mod embedded;
mod error;

#[cfg(test)]
mod tests;

pub use check::{ClaimResult, check};
pub use claim::{Claim, Place, Test};
pub use error::LessonError;

use crate::experiment::{Experiment, ExperimentError};
use std::sync::LazyLock;

/// A lesson.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Name of its folder in `lessons/`.
    pub slug: &'static str,
    /// The heading of its text.
    pub title: &'static str,
    /// The text, Markdown.
    pub markdown: &'static str,
    /// Its experiments; the first one is the one the text starts with.
    pub variants: &'static [Variant],
    /// The text of `claims.toml`.
    claims: &'static str,
}

/// One experiment of a lesson.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name of its file, without `.toml`.
    pub slug: &'static str,
    /// The `name` in it.
    pub title: &'static str,
    lesson: &'static str,
    text: &'static str,
    /// All experiments of the lesson, for `extends`.
    siblings: &'static [(&'static str, &'static str)],
}

static LESSONS: LazyLock<Vec<Lesson>> =
    LazyLock::new(|| embedded::FOLDERS.iter().map(Lesson::new).collect());

/// All lessons, in the order they are meant to be read.
pub fn lessons() -> &'static [Lesson] {
    &LESSONS
}

/// The lesson `slug`.
///
/// # Errors
/// [`LessonError::UnknownLesson`] with the names there are.
pub fn find(slug: &str) -> Result<&'static Lesson, LessonError> {
    let found = lessons().iter().find(|lesson| lesson.slug == slug);
    found.ok_or_else(|| LessonError::UnknownLesson {
        lesson: slug.into(),
        known: error::names(lessons().iter().map(|lesson| lesson.slug)),
    })
}

impl Lesson {
    fn new(folder: &embedded::Folder) -> Self {
        let variants = folder.experiments.iter().map(|(slug, text)| Variant {
            slug,
            title: quoted_name(text).unwrap_or(slug),
            lesson: folder.slug,
            text,
            siblings: folder.experiments,
        });
        let heading = folder.markdown.lines().next().unwrap_or_default();
        Self {
            slug: folder.slug,
            title: heading.trim_start_matches('#').trim(),
            markdown: folder.markdown,
            // Lessons live as long as the program, and so may what they consist of.
            variants: variants.collect::<Vec<_>>().leak(),
            claims: folder.claims,
        }
    }

    /// The experiment `variant`.
    ///
    /// # Errors
    /// [`LessonError::UnknownVariant`] with the names there are, [`LessonError::Experiment`] if it is not valid.
    pub fn experiment(&self, variant: &str) -> Result<Experiment, LessonError> {
        Ok(self.variant(variant)?.experiment()?)
    }

    /// What the text claims.
    ///
    /// # Errors
    /// [`LessonError::Claims`] names the claim and the field that is not as it should be.
    pub fn claims(&self) -> Result<Vec<Claim>, LessonError> {
        claim::read(self.slug, self.claims)
    }

    fn variant(&self, slug: &str) -> Result<&Variant, LessonError> {
        let found = self.variants.iter().find(|variant| variant.slug == slug);
        found.ok_or_else(|| LessonError::UnknownVariant {
            lesson: self.slug.into(),
            variant: slug.into(),
            known: error::names(self.variants.iter().map(|variant| variant.slug)),
        })
    }
}

impl Variant {
    /// Reads the experiment.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn experiment(&self) -> Result<Experiment, ExperimentError> {
        let path = |slug: &str| format!("lessons/{}/{slug}.toml", self.lesson);
        let resolve = |wanted: &str| {
            let found = self.siblings.iter().find(|(slug, _)| path(slug) == wanted);
            let text = found.map(|(_, text)| (*text).to_owned());
            text.ok_or_else(|| String::from("the lesson has no such experiment"))
        };
        Experiment::from_toml(self.text, &path(self.slug), &resolve)
    }
}

/// The value of the line `name = "..."`, as a part of the text so that it lives as long as the program.
fn quoted_name(text: &'static str) -> Option<&'static str> {
    let quoted = |line: &'static str| line.strip_prefix("name = \"")?.strip_suffix('"');
    text.lines().find_map(quoted)
}
