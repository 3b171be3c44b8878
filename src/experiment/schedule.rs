//! The `train.schedule` table: how the learning rate follows the updates.

use super::section::{Choices, Problems, Section};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// How the learning rate follows the number of updates done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The curve after the warm-up.
    pub kind: ScheduleKind,
    /// Number of updates over which the rate first rises in equal steps. Default 0, at most `train.steps`; a warm-up
    /// that a file or setting inherits is cut to a shorter `train.steps` of its own.
    pub warmup: usize,
    /// `linear`, `cosine`: the rate at the end, as a fraction of the full rate, 0 to 1. Default 0.
    pub floor: f32,
}

/// The curve of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleKind {
    /// The full rate until the end.
    #[default]
    Constant,
    /// A straight line down to the floor.
    Linear,
    /// Half a cosine wave down to the floor (Loshchilov and Hutter 2016, arXiv:1608.03983).
    Cosine,
}

const KINDS: Choices<ScheduleKind> = Choices {
    allowed: &[
        ("constant", ScheduleKind::Constant),
        ("linear", ScheduleKind::Linear),
        ("cosine", ScheduleKind::Cosine),
    ],
    later: &[],
};

impl ScheduleKind {
    /// The word for this curve in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Cosine => "cosine",
        }
    }
}

impl Schedule {
    /// Learning rate of the optimizer update with number `update` (the first is 0) of `total_updates`.
    ///
    /// It depends on updates and never on micro-batches, so accumulation does not change it. In a warm-up of W
    /// updates, update u has (u + 1) / (W + 1) of the full rate: the first one already learns, and update W is the
    /// first at the full rate, where the curve starts. The curve reaches its floor at `total_updates`, one past the
    /// last update.
    pub fn lr_at(&self, base_lr: f32, update: usize, total_updates: usize) -> f32 {
        // Doubles keep the rounding of this formula far below that of the F32 it ends in.
        let factor = if update < self.warmup {
            (update + 1) as f64 / (self.warmup as f64 + 1.0)
        } else {
            let floor = f64::from(self.floor);
            floor + (1.0 - floor) * self.curve_at(update, total_updates)
        };
        (f64::from(base_lr) * factor) as f32
    }

    /// The curve after the warm-up, from 1 down to 0.
    fn curve_at(&self, update: usize, total_updates: usize) -> f64 {
        let done = update.saturating_sub(self.warmup) as f64;
        let all = total_updates.saturating_sub(self.warmup).max(1) as f64;
        let progress = (done / all).min(1.0);
        match self.kind {
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Linear => 1.0 - progress,
            ScheduleKind::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
        }
    }

    pub(super) fn read(mut section: Section<'_>) -> Self {
        if section.is_absent() {
            return Self::default();
        }
        let Some(kind) = section.choice("kind", &KINDS) else {
            return Self::default();
        };
        let schedule = Self {
            kind,
            warmup: section.or_default("warmup", 0),
            floor: section.used_or("floor", kind != ScheduleKind::Constant, 0.0),
        };
        section.finish();
        schedule
    }

    pub(super) fn check(&self, steps: Option<usize>, problems: &Problems) {
        // With epochs the number of updates is known only once the data is.
        if let Some(steps) = steps.filter(|&steps| steps > 0 && self.warmup > steps) {
            let allowed = format!("must be at most train.steps ({steps}) updates");
            problems.value("train.schedule.warmup", self.warmup, &allowed);
        }
        if !(0.0..=1.0).contains(&self.floor) {
            let allowed = "must be 0 to 1, the fraction of the learning rate left at the end";
            problems.value("train.schedule.floor", self.floor, allowed);
        }
    }
}

impl Serialize for ScheduleKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Schedule {
    /// Writes the fields that the curve uses, because reading refuses the others.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("warmup", &self.warmup)?;
        if self.kind != ScheduleKind::Constant {
            map.serialize_entry("floor", &self.floor)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind, warmup: usize, floor: f32) -> Schedule {
        Schedule {
            kind,
            warmup,
            floor,
        }
    }

    #[track_caller]
    fn assert_close(found: f32, expected: f64) {
        let difference = (f64::from(found) - expected).abs();
        // One rounding to F32 is at most half of its last place.
        let allowed = f64::from(f32::EPSILON) / 2.0 * expected.abs();
        assert!(difference <= allowed, "{found} is not {expected}");
    }

    /// GA-05: with 20 micro-batches and two per update there are 10 updates, and the rate falls over those.
    #[test]
    fn linear_rate_falls_per_update_not_per_micro_batch() {
        let linear = schedule(ScheduleKind::Linear, 0, 0.0);
        for micro_batch in 0..20 {
            let update = micro_batch / 2;
            assert_close(
                linear.lr_at(0.1, update, 10),
                0.1 * (1.0 - update as f64 / 10.0),
            );
        }
    }

    #[test]
    fn warm_up_rises_in_equal_steps_to_the_full_rate() {
        for kind in [
            ScheduleKind::Constant,
            ScheduleKind::Linear,
            ScheduleKind::Cosine,
        ] {
            let warm = schedule(kind, 4, 0.0);
            for (update, expected) in [0.2, 0.4, 0.6, 0.8, 1.0].into_iter().enumerate() {
                assert_close(warm.lr_at(1.0, update, 100), expected);
            }
        }
    }

    #[test]
    fn curves_end_at_the_floor_and_stay_there() {
        for kind in [ScheduleKind::Linear, ScheduleKind::Cosine] {
            let curve = schedule(kind, 2, 0.25);
            assert_close(curve.lr_at(2.0, 2, 10), 2.0);
            assert_close(curve.lr_at(2.0, 6, 10), 1.25);
            assert_close(curve.lr_at(2.0, 10, 10), 0.5);
            assert_close(curve.lr_at(2.0, 99, 10), 0.5);
        }
        let cosine = schedule(ScheduleKind::Cosine, 0, 0.0);
        assert_close(cosine.lr_at(1.0, 1, 4), 0.5 * (1.0 + 0.5f64.sqrt()));
        assert_close(
            schedule(ScheduleKind::Constant, 0, 0.0).lr_at(0.5, 9, 10),
            0.5,
        );
    }

    #[test]
    fn a_warm_up_as_long_as_the_run_is_no_division_by_zero() {
        let warm = schedule(ScheduleKind::Cosine, 3, 0.0);
        assert_close(warm.lr_at(1.0, 2, 3), 0.75);
        assert_close(warm.lr_at(1.0, 3, 3), 1.0);
    }
}
