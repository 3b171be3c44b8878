//! The one configuration of a training run: model, data, training, techniques and memory budget.
//!
//! An experiment is a TOML file that may extend another one. Reading it either gives a value every part of the
//! program can trust, or one error that lists every problem with its file, field, value and what is allowed.

mod bounds;
mod data;
mod error;
mod field;
mod image_model;
mod layers;
mod model;
mod optimizer;
mod schedule;
mod section;
mod settings;
mod train;
mod transformer;

#[cfg(test)]
mod message_tests;
#[cfg(test)]
mod tests;

pub use data::{Data, LastBatch, Tokenizer};
pub use error::{ExperimentError, Problem};
pub use image_model::{Cnn, EfficientNet, MobileNet, PoolKind};
pub use model::{Activation, Mlp, Model};
pub use optimizer::{Optimizer, OptimizerKind};
pub use schedule::{Schedule, ScheduleKind};
pub use settings::{Memory, Precision, Techniques};
pub use train::Train;
pub use transformer::{Form, MlpKind, NormKind, Positions, Transformer};

use layers::Layers;
use section::{Problems, Section};
use serde::{Deserialize, Deserializer, Serialize};

/// A resolved, validated description of one training run.
///
/// It serialises to what a user could have written without `extends`: reading that back gives an equal value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// What the report and the app call this run.
    pub name: String,
    /// Seed of every random choice: initial weights, order of the samples, dropout masks.
    pub seed: u32,
    /// The network.
    pub model: Model,
    /// Which samples it learns from, and how many at a time.
    pub data: Data,
    /// For how long and by which rule it learns.
    pub train: Train,
    /// The memory-saving techniques in use.
    pub techniques: Techniques,
    /// The limit on device memory.
    pub memory: Memory,
}

impl Experiment {
    /// Reads the file at `path`, the files it extends, and lays the command-line settings `sets` (`a.b=value`) on top.
    ///
    /// A value of `sets` is read as TOML and, where it is not TOML, as text: `data.path=DIR` and
    /// `memory.budget=8MiB` need no quotes. In the browser there are no files: use [`Experiment::from_toml`].
    ///
    /// # Errors
    /// Names the file, the field, the value and what is allowed, for all problems at once.
    pub fn load(
        path: impl AsRef<std::path::Path>,
        sets: &[String],
    ) -> Result<Self, ExperimentError> {
        let origin = path.as_ref().display().to_string();
        let text = layers::read_file(&origin).map_err(|reason| ExperimentError::Read {
            file: origin.clone(),
            reason,
        })?;
        Self::from_toml_with(&text, &origin, &layers::read_file, sets)
    }

    /// Reads an experiment from `text`. `origin` is its path or name, used in messages and as the place that
    /// `extends` is relative to; `resolve` gives the text of such a path, or the reason there is none.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn from_toml(
        text: &str,
        origin: &str,
        resolve: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ExperimentError> {
        Self::from_toml_with(text, origin, resolve, &[])
    }

    /// [`Experiment::from_toml`] with settings laid on top, as [`Experiment::load`] does.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn from_toml_with(
        text: &str,
        origin: &str,
        resolve: &dyn Fn(&str) -> Result<String, String>,
        sets: &[String],
    ) -> Result<Self, ExperimentError> {
        let mut layers = Layers::read(text, origin, resolve)?;
        layers.push_sets(sets)?;
        Self::from_table(&layers.merged())
            .map_err(|problems| ExperimentError::Invalid(layers.name_files(problems)))
    }

    /// Checks the values against each other and against what each field allows; for an experiment that was changed
    /// in memory, as the controls of the app do.
    ///
    /// # Errors
    /// [`ExperimentError::Invalid`] with every problem found.
    pub fn validate(&self) -> Result<(), ExperimentError> {
        let problems = Problems::default();
        self.check(&problems);
        match problems.into_vec() {
            found if found.is_empty() => Ok(()),
            found => Err(ExperimentError::Invalid(found)),
        }
    }

    /// This experiment as a TOML file that extends nothing.
    ///
    /// # Errors
    /// [`ExperimentError::Write`] where a number has no TOML form (above 2^63 - 1).
    pub fn to_toml(&self) -> Result<String, ExperimentError> {
        toml::to_string(self).map_err(|error| ExperimentError::Write {
            reason: error.to_string(),
        })
    }

    /// Reads the merged table. Both the reading and the checks report, so that one try shows everything to mend.
    fn from_table(table: &toml::Table) -> Result<Self, Vec<Problem>> {
        let problems = Problems::default();
        let mut root = Section::root(table, &problems);
        let experiment = Self {
            name: root.required("name", "a name in quotes", String::from("unnamed")),
            seed: root.or_default("seed", 0),
            model: Model::read(root.child("model")),
            data: Data::read(root.child("data")),
            train: Train::read(root.child("train")),
            techniques: Techniques::read(root.child("techniques")),
            memory: Memory::read(root.child("memory")),
        };
        root.finish();
        experiment.check(&problems);
        match problems.into_vec() {
            found if found.is_empty() => Ok(experiment),
            found => Err(found),
        }
    }

    fn check(&self, problems: &Problems) {
        if self.name.trim().is_empty() {
            problems.value("name", format!("{:?}", self.name), "must not be empty");
        }
        if self.name.chars().any(char::is_control) {
            problems.value(
                "name",
                format!("{:?}", self.name),
                "must be one line of plain text",
            );
        }
        self.model.check(problems);
        self.data.check(problems);
        self.train.check(problems);
        self.techniques.check(self.data.batch, problems);
        self.memory.check(problems);
    }
}

impl<'de> Deserialize<'de> for Experiment {
    /// Reads a resolved experiment, for example out of a report; the messages are those of [`Experiment::load`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        Self::from_table(&table)
            .map_err(|problems| serde::de::Error::custom(ExperimentError::Invalid(problems)))
    }
}
