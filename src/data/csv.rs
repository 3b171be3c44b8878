//! Tables in CSV: one column of labels, numbers in all others.

use super::dataset::Values;
use super::error::DataError;
use super::file::content;
use super::info::SourceInfo;
use super::parts::{Part, Parts};
use super::text::decode;
use crate::experiment;
use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use std::collections::HashMap;

/// More different labels than this are no classes but, say, names or measurements.
pub(super) const MOST_CLASSES: usize = 1 << 16;

/// Longest list of columns in a message.
const COLUMNS_SHOWN: usize = 12;

/// A number has at least one digit and one separator, and becomes four bytes.
const BYTES_PER_FILE_BYTE: u64 = 2;

/// What is known of the table `path`: its columns and the classes in it.
pub(super) fn info(data: &experiment::Data, path: &str) -> Result<SourceInfo, DataError> {
    let bytes = content(path, 0)?;
    let table = Table::read(path, &decode(path, bytes.as_ref())?, &data.label, false)?;
    Ok(table.info(&data.source))
}

/// Reads the table `path`.
pub(super) fn load(data: &experiment::Data, path: &str) -> Result<(SourceInfo, Parts), DataError> {
    let bytes = content(path, BYTES_PER_FILE_BYTE)?;
    let table = Table::read(path, &decode(path, bytes.as_ref())?, &data.label, true)?;
    let info = table.info(&data.source);
    let parts = Parts {
        place: path.to_owned(),
        train: Part {
            values: Values::Numbers(table.values),
            labels: table.labels,
        },
        test: None,
        notices: Vec::new(),
        advice: "give a file with rows below its line of column names",
    };
    Ok((info, parts))
}

/// The content of a file.
struct Table {
    /// Columns beside the label.
    features: usize,
    class_names: Vec<String>,
    /// Shape [rows, features]; empty where only the classes were asked for.
    values: Vec<f32>,
    /// The class of each row.
    labels: Vec<u32>,
}

impl Table {
    fn info(&self, name: &str) -> SourceInfo {
        SourceInfo::classes_of(name, vec![self.features], self.class_names.clone())
    }

    fn read(file: &str, text: &str, label: &str, with_values: bool) -> Result<Self, DataError> {
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let columns = reader
            .headers()
            .map_err(|error| refuse(file, &error))?
            .clone();
        let label_column = find_label(file, &columns, label)?;
        let features = columns.len() - 1;
        if features == 0 {
            let reason = format!(
                "there is no column beside data.label = \"{label}\"; a sample needs at least one number"
            );
            return Err(DataError::format(file, reason));
        }
        let mut classes = Classes::default();
        let mut values = Vec::new();
        let mut labels = Vec::new();
        let mut record = StringRecord::new();
        while reader
            .read_record(&mut record)
            .map_err(|error| refuse(file, &error))?
        {
            let line = record.position().map_or(0, csv::Position::line);
            for (column, cell) in record.iter().enumerate() {
                if column == label_column {
                    labels.push(classes.number_of(cell).ok_or_else(|| {
                        let reason = if cell.is_empty() {
                            format!("line {line} has no label in column \"{label}\"; remove the line or fill it in")
                        } else {
                            format!("column \"{label}\" has more than {MOST_CLASSES} different values; name a column of classes in data.label")
                        };
                        DataError::format(file, reason)
                    })?);
                } else if with_values {
                    let number = cell.parse().ok().filter(|number: &f32| number.is_finite());
                    values.push(number.ok_or_else(|| {
                        let name = columns.get(column).unwrap_or_default();
                        let reason = format!("line {line}, column \"{name}\": \"{cell}\" is no finite number; remove the column or the line, or mend the value");
                        DataError::format(file, reason)
                    })?);
                }
            }
        }
        let class_names = classes.sort(&mut labels);
        Ok(Self {
            features,
            class_names,
            values,
            labels,
        })
    }
}

/// The labels met so far, numbered in the order in which they came.
#[derive(Default)]
struct Classes {
    numbers: HashMap<String, u32>,
}

impl Classes {
    /// The number of the class `name`; nothing for an empty name, or where there are too many classes.
    fn number_of(&mut self, name: &str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        if name.is_empty() || self.numbers.len() >= MOST_CLASSES {
            return None;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }

    /// Numbers the classes anew and gives their names: whole numbers from 0 on are their own classes, and any other
    /// names are sorted.
    fn sort(self, labels: &mut [u32]) -> Vec<String> {
        let whole: Option<Vec<(u32, u32)>> = self
            .numbers
            .iter()
            .map(|(name, &number)| Some((number, whole_number(name)?)))
            .collect();
        let mut new_numbers = vec![0; self.numbers.len()];
        let names = match whole {
            Some(pairs) => {
                let count = pairs.iter().map(|&(_, class)| class + 1).max().unwrap_or(0);
                for (old, class) in pairs {
                    new_numbers[old as usize] = class;
                }
                (0..count).map(|class| class.to_string()).collect()
            }
            None => {
                let mut names: Vec<(String, u32)> = self.numbers.into_iter().collect();
                names.sort_unstable();
                for (new, (_, old)) in names.iter().enumerate() {
                    new_numbers[*old as usize] = new as u32;
                }
                names.into_iter().map(|(name, _)| name).collect()
            }
        };
        for label in labels {
            *label = new_numbers[*label as usize];
        }
        names
    }
}

/// The class that `name` is the number of: `3`, and also `3.0`, as tables with gaps are written.
fn whole_number(name: &str) -> Option<u32> {
    let number: f64 = name.parse().ok()?;
    let whole = number >= 0.0 && number.fract() == 0.0 && number < MOST_CLASSES as f64;
    whole.then_some(number as u32)
}

/// Which column is the label.
fn find_label(file: &str, columns: &StringRecord, label: &str) -> Result<usize, DataError> {
    let mut places = (0..columns.len()).filter(|&place| columns.get(place) == Some(label.trim()));
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(DataError::format(
            file,
            format!("two columns have the name data.label = \"{label}\"; rename one of them"),
        )),
        (None, _) if columns.is_empty() => Err(DataError::NoSamples {
            file: file.to_owned(),
            advice: String::from("give a file whose first line names the columns"),
        }),
        (None, _) => {
            let names: Vec<_> = columns.iter().take(COLUMNS_SHOWN).collect();
            let more = columns.len().saturating_sub(COLUMNS_SHOWN);
            let mut reason = format!(
                "there is no column data.label = \"{label}\"; its first line names {}",
                names.join(", ")
            );
            if more > 0 {
                reason += &format!(" and {more} more");
            }
            reason += match columns.get(0) {
                Some(only) if columns.len() == 1 && only.contains([';', '\t']) => {
                    "; columns must be separated by commas"
                }
                _ => "; set data.label to one of these",
            };
            Err(DataError::format(file, reason))
        }
    }
}

fn refuse(file: &str, error: &csv::Error) -> DataError {
    let reason = match error.kind() {
        ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!(
                "line {line} has {len} values, the first line names {expected_len} columns; remove the line or mend it"
            )
        }
        _ => format!("this is no CSV file: {error}; save the table as CSV in UTF-8"),
    };
    DataError::format(file, reason)
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
