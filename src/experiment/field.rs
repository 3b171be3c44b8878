//! The types a field of an experiment can have, and the words used about values in messages.

use crate::units::{Bytes, BytesError};
use toml::Value;

/// Longest value that is quoted in a message, in characters.
const QUOTED_CHARS: usize = 60;

/// Longest word that is compared with the allowed ones, in characters; every real field is shorter.
const LONGEST_WORD_CHARS: usize = 40;

/// A type that a field can have.
pub(super) trait Field: Sized {
    /// Reads `value`, or says what was expected.
    fn read(value: &Value) -> Result<Self, String>;
}

impl Field for String {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(format!("expected text in quotes, found {}", type_of(other))),
        }
    }
}

impl Field for bool {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Boolean(truth) => Ok(*truth),
            other => Err(format!("expected true or false, found {}", type_of(other))),
        }
    }
}

impl Field for f32 {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            // Rounding to F32 is what every other part of the program does with these numbers.
            Value::Float(number) => Ok(*number as f32),
            Value::Integer(number) => Ok(*number as f32),
            other => Err(format!("expected a number, found {}", type_of(other))),
        }
    }
}

impl Field for usize {
    fn read(value: &Value) -> Result<Self, String> {
        whole(value, "a whole number, 0 or above")
    }
}

impl Field for u32 {
    fn read(value: &Value) -> Result<Self, String> {
        whole(value, "a whole number from 0 to 4294967295")
    }
}

impl Field for Vec<usize> {
    fn read(value: &Value) -> Result<Self, String> {
        let Value::Array(items) = value else {
            let found = type_of(value);
            return Err(format!("expected a list of whole numbers, found {found}"));
        };
        items
            .iter()
            .enumerate()
            .map(|(i, item)| usize::read(item).map_err(|message| format!("entry {i}: {message}")))
            .collect()
    }
}

impl Field for Bytes {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => text.parse().map_err(|error: BytesError| error.to_string()),
            other => whole(other, "a number of bytes such as \"64 MiB\" or 67108864").map(Bytes),
        }
    }
}

fn whole<T: TryFrom<i64>>(value: &Value, expected: &str) -> Result<T, String> {
    match value {
        Value::Integer(number) => {
            T::try_from(*number).map_err(|_| format!("expected {expected}, found {number}"))
        }
        other => Err(format!("expected {expected}, found {}", type_of(other))),
    }
}

/// The kind of value, in words a user of TOML knows.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// The value as a user would have written it, cut where it is long.
pub(super) fn quote(value: &Value) -> String {
    let text = value.to_string().replace('\n', " ");
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// `; did you mean "x"?` for the nearest of `words`, if one is near.
pub(super) fn suggestion<'w>(typed: &str, words: impl Iterator<Item = &'w str>) -> String {
    if typed.chars().count() > LONGEST_WORD_CHARS {
        return String::new();
    }
    let nearest = words
        .map(|word| (edit_distance(typed, word), word))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        // A third of the letters may differ, so that "lr" is not offered for "b".
        Some((distance, word)) if distance <= 2.min(word.chars().count().div_ceil(3)) => {
            format!("; did you mean \"{word}\"?")
        }
        _ => String::new(),
    }
}

/// Number of letters to insert, delete, replace or swap with their neighbour (Damerau 1964, restricted form).
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped {
                    least.min(rows[i - 2][j - 2] + 1)
                } else {
                    least
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let words = ["hidden", "activation", "dropout", "lr"];
        for (typed, expected) in [
            ("hiden", "; did you mean \"hidden\"?"),
            ("activaiton", "; did you mean \"activation\"?"),
            ("rl", "; did you mean \"lr\"?"),
            ("banana", ""),
            ("x", ""),
        ] {
            assert_eq!(suggestion(typed, words.into_iter()), expected, "{typed}");
        }
        assert_eq!(suggestion(&"hidden".repeat(1_000), words.into_iter()), "");
    }

    #[test]
    fn quotes_long_values_in_part_and_never_inside_a_letter() {
        let quoted = quote(&Value::String("é".repeat(200)));
        assert!(quoted.ends_with("..."), "{quoted}");
        assert_eq!(quoted.chars().count(), QUOTED_CHARS + 3);
        assert_eq!(quote(&Value::Integer(7)), "7");
    }
}
