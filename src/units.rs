//! Byte counts: rounding as the pool does it, printing in KiB and MiB, reading what a user typed.

use std::fmt;

/// Every device buffer is a multiple of this many bytes. It is the largest alignment WebGPU asks for, so a plan
/// made without an adapter is right on all of them.
pub const BUFFER_ALIGNMENT: u64 = 256;

/// Bytes a buffer of `bytes` really takes in the pool.
pub fn round_to_buffer(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT
}

/// A number of bytes that prints as a person reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Units by factor of 1024, smallest first.
const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = 0;
        // 1023.95 would print as "1024.0" of the smaller unit.
        while value >= 1023.95 && unit + 1 < BINARY.len() {
            value /= 1024.0;
            unit += 1;
        }
        let name = BINARY[unit];
        let text = match unit {
            0 => format!("{} {name}", self.0),
            _ if value < 100.0 => format!("{value:.2} {name}"),
            _ => format!("{value:.1} {name}"),
        };
        f.pad(&text)
    }
}

impl Bytes {
    /// The unit in which an axis up to `self` is labelled, and its size in bytes: ticks then fall on round numbers.
    pub fn axis_unit(self) -> (f64, &'static str) {
        let unit = (1..BINARY.len())
            .rev()
            .find(|power| self.0 >= 2 * 1024u64.pow(*power as u32))
            .unwrap_or(0);
        (1024f64.powi(unit as i32), BINARY[unit])
    }
}

/// A byte count that could not be read.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error(
    "\"{text}\" is not a number of bytes; write for example \"8 MiB\", \"512 KiB\", \"1.5 GB\" or a plain 8388608"
)]
pub struct BytesError {
    text: String,
}

impl std::str::FromStr for Bytes {
    type Err = BytesError;

    /// Reads `8MiB`, `8 MiB`, `1.5 GB` or plain bytes. KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB powers of 1000.
    fn from_str(text: &str) -> Result<Self, BytesError> {
        let error = || BytesError {
            text: text.to_owned(),
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "kib" => 1024.0,
            "mib" => 1024f64.powi(2),
            "gib" => 1024f64.powi(3),
            "tib" => 1024f64.powi(4),
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            _ => return Err(error()),
        };
        let value: f64 = number.parse().map_err(|_| error())?;
        let bytes = value * factor;
        if !bytes.is_finite() || bytes < 1.0 || bytes >= u64::MAX as f64 {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_with_the_unit_a_person_would_choose() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_048_575, "1.00 MiB"),
            (8 << 20, "8.00 MiB"),
            (131 << 30, "131.0 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn reads_what_it_prints_and_refuses_bananas() {
        for (text, bytes) in [
            ("8MiB", 8 << 20),
            ("8 MiB", 8 << 20),
            ("1.5 kb", 1500),
            ("42", 42),
            ("2 GiB", 2 << 30),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for text in ["8 bananas", "", "MiB", "-1 MiB", "0", "1e40 TB", "nan"] {
            assert!(text.parse::<Bytes>().is_err(), "{text} should be refused");
        }
    }

    #[test]
    fn an_axis_has_the_largest_unit_of_which_it_holds_two() {
        for (bytes, unit) in [
            (0, "B"),
            (2047, "B"),
            (2048, "KiB"),
            (3 << 20, "MiB"),
            (1 << 30, "MiB"),
            (2 << 30, "GiB"),
        ] {
            assert_eq!(Bytes(bytes).axis_unit().1, unit);
        }
    }

    #[test]
    fn rounds_up_to_whole_buffers() {
        assert_eq!([0, 1, 256, 257].map(round_to_buffer), [256, 256, 256, 512]);
    }
}
