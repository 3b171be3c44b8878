//! The `[train]` section: length, optimizer, learning-rate schedule and clipping.

use super::optimizer::Optimizer;
use super::schedule::Schedule;
use super::section::{Problems, Section};
use serde::Serialize;

/// For how long and by which rule the weights are changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Train {
    /// Number of optimizer updates. Exactly one of `steps` and `epochs` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Number of passes over the training set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// The update rule.
    pub optimizer: Optimizer,
    /// How the learning rate changes over the updates.
    pub schedule: Schedule,
    /// Largest global L2 norm of the gradient; a longer gradient is scaled down to it once per update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f32>,
    /// Measure accuracy on the test set every so many updates; without it only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_every: Option<usize>,
}

impl Train {
    /// Number of optimizer updates of the whole run, of which an epoch has `per_epoch`.
    pub fn total_updates(&self, per_epoch: usize) -> usize {
        match (self.steps, self.epochs) {
            (Some(steps), _) => steps,
            (None, epochs) => epochs.unwrap_or(0).saturating_mul(per_epoch),
        }
    }

    pub(super) fn read(mut section: Section<'_>) -> Self {
        // A count of the wrong type is one problem. The largest count in its place causes no second one.
        let steps = section.optional("steps", usize::MAX);
        let epochs = section.optional("epochs", usize::MAX);
        let train = Self {
            steps,
            epochs: epochs.filter(|_| !section.is_broken()),
            optimizer: Optimizer::read(section.child("optimizer")),
            schedule: Schedule::read(section.child("schedule")),
            clip: section.optional("clip", 1.0),
            evaluate_every: section.optional("evaluate_every", usize::MAX),
        };
        section.finish();
        train
    }

    pub(super) fn check(&self, problems: &Problems) {
        match (self.steps, self.epochs) {
            (None, None) => problems.missing(
                "train.steps",
                "write train.steps = N (optimizer updates) or train.epochs = N",
            ),
            (Some(steps), Some(epochs)) => problems.value(
                "train.steps",
                steps,
                &format!("train.epochs = {epochs} is given too; keep one of the two"),
            ),
            _ => {}
        }
        for (path, count) in [
            ("train.steps", self.steps),
            ("train.epochs", self.epochs),
            ("train.evaluate_every", self.evaluate_every),
        ] {
            if count == Some(0) {
                problems.value(path, 0, "must be 1 or more");
            }
        }
        if let Some(clip) = self.clip
            && !(clip.is_finite() && clip > 0.0)
        {
            let allowed = "must be a finite norm above 0; leave the field out for no clipping";
            problems.value("train.clip", clip, allowed);
        }
        self.optimizer.check(problems);
        self.schedule.check(self.steps, problems);
    }
}
