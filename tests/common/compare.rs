//! The one comparator of the test suite, and deterministic test data.

use std::fmt;

/// How far two numbers may lie apart: |got - expected| <= absolute + relative * |expected|.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Allowed at any size.
    pub(crate) absolute: f32,
    /// Allowed per size of the expected number.
    pub(crate) relative: f32,
}

/// No difference at all. For kernels that only move numbers or round once, and for data whose sums are exact.
pub(crate) const EXACT: Tolerance = Tolerance {
    absolute: 0.0,
    relative: 0.0,
};

/// `count` roundings of numbers up to `size`.
pub(crate) fn roundings(count: usize, size: f32) -> Tolerance {
    let relative = count as f32 * f32::EPSILON;
    Tolerance {
        absolute: relative * size,
        relative,
    }
}

/// What a comparison that passed has seen.
#[must_use]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreement {
    /// Where the largest share of the tolerance was used.
    pub(crate) worst: usize,
    /// What stood there.
    pub(crate) got: f32,
    /// What should stand there.
    pub(crate) expected: f32,
    /// Largest absolute difference.
    pub(crate) max_absolute: f32,
    /// Largest difference relative to the expected number.
    pub(crate) max_relative: f32,
    /// Largest difference as a share of what is allowed there; above 1 is a failure. 0 if all are equal.
    pub(crate) used: f32,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "worst at [{}]: got {:e}, expected {:e}; max abs {:e}, max rel {:e}, {:.2} of the tolerance used",
            self.worst, self.got, self.expected, self.max_absolute, self.max_relative, self.used
        )
    }
}

/// Compares two lists: first their lengths, then that both are finite, then every element.
///
/// # Errors
/// Says which of the three failed, and where it was worst.
pub(crate) fn compare(
    got: &[f32],
    expected: &[f32],
    tolerance: Tolerance,
) -> Result<Agreement, String> {
    if got.len() != expected.len() {
        return Err(format!(
            "got {} elements, expected {}",
            got.len(),
            expected.len()
        ));
    }
    for (side, values) in [("got", got), ("expected", expected)] {
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(format!(
                "{side}[{i}] is {} (bits {:#010x})",
                values[i],
                values[i].to_bits()
            ));
        }
    }
    let mut seen = Agreement::default();
    let mut failures = 0;
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let difference = (f64::from(got) - f64::from(expected)).abs();
        let size = f64::from(expected).abs();
        let allowed = f64::from(tolerance.absolute) + f64::from(tolerance.relative) * size;
        // Written so that a NaN, should one come this far, counts as a failure.
        let passes = difference <= allowed;
        failures += usize::from(!passes);
        // With nothing allowed any difference is infinitely too large.
        let used = if difference == 0.0 {
            0.0
        } else {
            difference / allowed
        };
        if used > f64::from(seen.used) {
            seen = Agreement {
                worst: i,
                got,
                expected,
                used: used as f32,
                ..seen
            };
        }
        seen.max_absolute = seen.max_absolute.max(difference as f32);
        if size > 0.0 {
            seen.max_relative = seen.max_relative.max((difference / size) as f32);
        }
    }
    if failures > 0 {
        return Err(format!(
            "{failures} of {} elements differ; {seen}",
            got.len()
        ));
    }
    Ok(seen)
}

/// Compares bit patterns.
///
/// # Errors
/// Names the first element that differs.
pub(crate) fn compare_bits(got: &[u32], expected: &[u32]) -> Result<Agreement, String> {
    if got.len() != expected.len() {
        return Err(format!(
            "got {} words, expected {}",
            got.len(),
            expected.len()
        ));
    }
    match got.iter().zip(expected).position(|(a, b)| a != b) {
        Some(i) => Err(format!(
            "word [{i}] is {:#010x}, expected {:#010x}",
            got[i], expected[i]
        )),
        None => Ok(Agreement::default()),
    }
}

/// Deterministic test data: a 64-bit linear congruential generator (Knuth's MMIX constants), upper half.
pub(crate) struct Data(u64);

impl Data {
    /// A stream of its own for every seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    /// The next random word.
    pub(crate) fn word(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// n numbers spread evenly over -size .. size.
    pub(crate) fn reals(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n)
            .map(|_| ((self.word() >> 8) as f32 / 8_388_608.0 - 1.0) * size)
            .collect()
    }

    /// n multiples of 1/8 from -2 to 2. Products of two are multiples of 1/64 up to 4, so an F32 holds the sum of up to
    /// 65,536 of them exactly, whatever the order: a sum that differs at all has lost, doubled or mixed up an element.
    pub(crate) fn eighths(&mut self, n: usize) -> Vec<f32> {
        (0..n)
            .map(|_| (self.word() % 33) as f32 / 8.0 - 2.0)
            .collect()
    }
}

mod tests {
    use super::{EXACT, Tolerance, compare, compare_bits};

    const LOOSE: Tolerance = Tolerance {
        absolute: 1e-3,
        relative: 1e-3,
    };

    #[test]
    fn the_comparator_accepts_what_is_within_the_tolerance_and_reports_the_worst() {
        let seen = compare(&[1.0, 2.0005, 0.0], &[1.0, 2.0, 0.0], LOOSE).unwrap();
        assert_eq!((seen.worst, seen.expected), (1, 2.0));
        assert!((seen.used - 0.0005 / 0.003).abs() < 1e-3, "{seen}");
        assert!(
            (seen.max_absolute - 0.0005).abs() < 1e-6 && (seen.max_relative - 0.00025).abs() < 1e-6,
            "{seen}"
        );
        assert_eq!(compare(&[0.5; 9], &[0.5; 9], EXACT).unwrap().used, 0.0);
    }

    #[test]
    fn the_comparator_rejects_nan_and_infinity_on_either_side() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for huge in [
                LOOSE,
                Tolerance {
                    absolute: f32::INFINITY,
                    relative: 0.0,
                },
            ] {
                assert!(
                    compare(&[1.0, bad], &[1.0, 1.0], huge)
                        .unwrap_err()
                        .contains("got[1]")
                );
                assert!(
                    compare(&[1.0, 1.0], &[bad, 1.0], huge)
                        .unwrap_err()
                        .contains("expected[0]")
                );
                assert!(compare(&[bad], &[bad], huge).is_err());
            }
        }
    }

    #[test]
    fn the_comparator_rejects_another_length() {
        assert!(compare(&[1.0], &[1.0, 1.0], LOOSE).is_err());
        assert!(compare(&[], &[1.0], LOOSE).is_err());
        assert!(compare_bits(&[1], &[1, 1]).is_err());
    }

    #[test]
    fn the_comparator_finds_one_planted_wrong_element() {
        let expected: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        for planted in [0, 517, 999] {
            let mut got = expected.clone();
            got[planted] += 2.0;
            let message = compare(&got, &expected, LOOSE).unwrap_err();
            assert!(
                message.contains(&format!("worst at [{planted}]")) && message.contains("1 of 1000"),
                "{message}"
            );
        }
        assert!(compare(&[1.0 + f32::EPSILON], &[1.0], EXACT).is_err());
        assert!(compare_bits(&[0x8000_0000], &[0]).is_err());
    }
}
