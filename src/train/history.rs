//! What a training has been through: results and times of every update.

use crate::report::{LossReport, StepMillis, TimeReport};
use std::collections::VecDeque;
use web_time::Instant;

/// The result of one optimizer update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateResult {
    /// Number of the update, from 0.
    pub update: usize,
    /// Number of the pass over the data, from 0.
    pub epoch: usize,
    /// Mean loss over the window, before the update.
    pub loss: f32,
    /// Global L2 norm of the gradient, before clipping.
    pub gradient_norm: f32,
    /// Learning rate of the update.
    pub lr: f32,
}

/// An update on its way.
#[derive(Debug)]
struct Pending {
    result: UpdateResult,
    started: Instant,
    n_samples: usize,
}

/// Results and times of all updates.
#[derive(Debug, Default)]
pub(super) struct History {
    pending: VecDeque<Pending>,
    last_arrival: Option<Instant>,
    results: Vec<UpdateResult>,
    step_millis: Vec<f64>,
    total_millis: f64,
    filling_millis: f64,
    n_samples: usize,
}

impl History {
    pub(super) fn results(&self) -> &[UpdateResult] {
        &self.results
    }

    /// An update was begun at `started` and has been sent to the device; its numbers are not known yet. The host spent
    /// `filling_millis` on making its batches of `n_samples`.
    pub(super) fn started(
        &mut self,
        result: UpdateResult,
        started: Instant,
        n_samples: usize,
        filling_millis: f64,
    ) {
        self.filling_millis += filling_millis;
        self.pending.push_back(Pending {
            result,
            started,
            n_samples,
        });
    }

    /// The numbers of an update have come back; they come in order. Its time runs from where it was begun, or from
    /// where the update before it had come back if that was later: with several on their way they share the device.
    pub(super) fn finished(
        &mut self,
        update: usize,
        loss: f32,
        gradient_norm: f32,
    ) -> Option<UpdateResult> {
        if self.pending.front()?.result.update != update {
            return None;
        }
        let done = self.pending.pop_front()?;
        let begun = self
            .last_arrival
            .map_or(done.started, |t| t.max(done.started));
        let now = Instant::now();
        let step_millis = now.duration_since(begun).as_secs_f64() * 1e3;
        self.last_arrival = Some(now);
        self.step_millis.push(step_millis);
        self.total_millis += step_millis;
        self.n_samples += done.n_samples;
        let result = UpdateResult {
            loss,
            gradient_norm,
            ..done.result
        };
        self.results.push(result);
        Some(result)
    }

    pub(super) fn loss_report(&self) -> Option<LossReport> {
        let (first, last) = (self.results.first()?, self.results.last()?);
        let curve = self.results.iter().map(|r| (r.update, r.loss)).collect();
        Some(LossReport {
            first: first.loss,
            last: last.loss,
            curve,
        })
    }

    pub(super) fn samples_per_second(&self) -> f64 {
        self.n_samples as f64 / (self.total_millis.max(1e-6) / 1e3)
    }

    pub(super) fn time_report(&self) -> Option<TimeReport> {
        let mut sorted = self.step_millis.clone();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = *sorted.get(sorted.len() / 2)?;
        Some(TimeReport {
            step_millis: StepMillis { median, min, max },
            samples_per_second: self.samples_per_second(),
            data_wait_fraction: self.filling_millis / self.total_millis.max(1e-6),
        })
    }
}
