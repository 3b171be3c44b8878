//! Round numbers of bytes for the marks of an axis.

/// Multiples of one power of two, above 0 and up to `top_bytes`: as many as fit into `most` marks.
pub(super) fn marks(top_bytes: f64, most: usize) -> Vec<u64> {
    let mut step: u64 = 1;
    while top_bytes / step as f64 > most as f64 && step < 1 << 62 {
        step *= 2;
    }
    (1..=most as u64).map(|n| n * step).take_while(|bytes| *bytes as f64 <= top_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::marks;

    #[test]
    fn marks_are_round_few_and_inside() {
        assert_eq!(marks(1000.0, 4), [256, 512, 768]);
        assert_eq!(marks(1024.0, 4), [256, 512, 768, 1024]);
        assert_eq!(marks(0.5, 4), [0_u64; 0]);
        for top in [1.0, 3e3, 7.7e6, 5e12, 1e300] {
            let found = marks(top, 5);
            assert!(found.len() <= 5, "{top}: {found:?}");
            assert!(found.iter().all(|b| *b as f64 <= top), "{top}: {found:?}");
        }
        assert!(marks(7.7e6, 5).len() >= 3, "at least half of the marks are used");
    }
}
