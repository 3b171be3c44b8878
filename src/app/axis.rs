//! Round numbers of bytes for the marks of an axis.

/// Multiples of one step above 0 and up to `top_bytes`, `most` at most. The step is a power of two, or half as much
/// again: 1, 1.5, 2, 3, 4, 6 ... KiB are all easy to read.
pub(super) fn marks(top_bytes: f64, most: usize) -> Vec<u64> {
    let steps = (0..60).flat_map(|power| [1_u64 << power, (1 << power) / 2 * 3]);
    let step = steps
        .filter(|step| *step > 0)
        .find(|step| (top_bytes / *step as f64).floor() <= most as f64);
    let Some(step) = step else { return Vec::new() };
    (1..=most as u64)
        .map(|n| n * step)
        .take_while(|bytes| *bytes as f64 <= top_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::marks;

    #[test]
    fn marks_are_round_few_and_inside() {
        assert_eq!(marks(1000.0, 4), [256, 512, 768]);
        assert_eq!(marks(1024.0, 4), [256, 512, 768, 1024]);
        assert_eq!(marks(1600.0, 4), [384, 768, 1152, 1536]);
        assert_eq!(marks(0.5, 4), [0_u64; 0]);
        for top in [1.0, 3e3, 7.7e6, 5e12, 1e300] {
            let found = marks(top, 5);
            assert!(found.len() <= 5, "{top}: {found:?}");
            assert!(found.iter().all(|b| *b as f64 <= top), "{top}: {found:?}");
        }
        assert!(marks(7.7e6, 5).len() >= 4, "most of the marks are used");
    }
}
