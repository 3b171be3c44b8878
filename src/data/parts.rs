//! From what the files hold to a training and a test part.

use super::dataset::{Dataset, Split, Values};
use super::error::DataError;
use super::info::SourceInfo;

/// Classified samples as a file has them: numbers, or bytes that may turn out to be numbers.
pub(super) struct Part {
    pub(super) values: Values,
    /// The class of each sample.
    pub(super) labels: Vec<u32>,
}

/// What the files of a data set hold.
pub(super) struct Parts {
    /// Where it comes from, for messages.
    pub(super) place: String,
    pub(super) train: Part,
    /// The part to test with, where the files have one of their own.
    pub(super) test: Option<Part>,
    pub(super) notices: Vec<String>,
    /// What to do where there is no sample at all.
    pub(super) advice: &'static str,
}

/// The share held out is rounded to this part of one, so that 0.1 means one of ten and not a little more.
const SHARE_STEPS: f64 = 1e6;

impl Parts {
    /// Makes both parts: holds samples out where there is no test part, and stores values in their smallest form.
    pub(super) fn split(mut self, info: SourceInfo, validation: f32) -> Result<Split, DataError> {
        let features = info.features();
        if self
            .test
            .as_ref()
            .is_some_and(|test| test.labels.is_empty())
        {
            self.notices.push(format!(
                "{}: its test part has no samples; a share of the training part is held out instead",
                self.place
            ));
            self.test = None;
        }
        let samples = self.train.labels.len() as u64;
        if samples == 0 {
            return Err(DataError::NoSamples {
                file: self.place,
                advice: self.advice.to_owned(),
            });
        }
        for count in [
            samples,
            self.test
                .as_ref()
                .map_or(0, |test| test.labels.len() as u64),
        ] {
            if u32::try_from(count).is_err() {
                return Err(DataError::TooManySamples {
                    file: self.place,
                    samples: count,
                });
            }
        }
        let mut train = self.train;
        let mut test = match self.test {
            Some(test) => test,
            None if samples == 1 => return Err(DataError::OneSample { file: self.place }),
            None => {
                let held_out = held_out(&train.labels, info.classes(), validation);
                train.take(&held_out, features)
            }
        };
        settle(&mut train.values, &mut test.values);
        Ok(Split {
            info,
            train: train.into_dataset(features),
            test: test.into_dataset(features),
            codec: None,
            notices: self.notices,
        })
    }
}

impl Part {
    /// Takes the samples with a `true` out into a part of their own; both keep the order.
    fn take(&mut self, taken: &[bool], features: usize) -> Self {
        let values = match &mut self.values {
            Values::Bytes(bytes) => Values::Bytes(take_rows(bytes, taken, features)),
            Values::Numbers(numbers) => Values::Numbers(take_rows(numbers, taken, features)),
            Values::Tokens(tokens) => Values::Tokens(take_rows(tokens, taken, features)),
        };
        Self {
            values,
            labels: take_rows(&mut self.labels, taken, 1),
        }
    }

    fn into_dataset(mut self, features: usize) -> Dataset {
        self.values.shrink();
        self.labels.shrink_to_fit();
        Dataset {
            features,
            values: self.values,
            labels: self.labels,
        }
    }
}

/// Which samples are held out for testing: of each class the same share, evenly over its samples in the order of the
/// files. The rule needs no seed, so that runs with different seeds are judged by the same samples; and it goes by class,
/// because files are often sorted by class or deal the classes out in turn. At least one sample is held out and one kept.
fn held_out(labels: &[u32], classes: usize, validation: f32) -> Vec<bool> {
    let share = (f64::from(validation) * SHARE_STEPS).round() as u64;
    let steps = SHARE_STEPS as u64;
    let mut seen = vec![0u64; classes];
    let mut taken: Vec<bool> = labels
        .iter()
        .map(|&label| {
            let Some(before) = seen.get_mut(label as usize) else {
                return false;
            };
            *before += 1;
            *before * share / steps > (*before - 1) * share / steps
        })
        .collect();
    if !taken.contains(&true)
        && let Some(last) = taken.last_mut()
    {
        *last = true;
    }
    if !taken.contains(&false)
        && let Some(first) = taken.first_mut()
    {
        *first = false;
    }
    taken
}

/// Moves the rows with a `true` out of `rows`, whose rows are `width` long.
fn take_rows<T: Copy>(rows: &mut Vec<T>, taken: &[bool], width: usize) -> Vec<T> {
    let count = taken.iter().filter(|&&taken| taken).count();
    let mut out = Vec::with_capacity(count * width);
    let mut kept = 0;
    for (row, &taken) in taken.iter().enumerate() {
        let range = row * width..(row + 1) * width;
        if taken {
            out.extend_from_slice(&rows[range]);
        } else {
            rows.copy_within(range, kept * width);
            kept += 1;
        }
    }
    rows.truncate(kept * width);
    out
}

/// Stores both parts as bytes if they hold nothing but whole numbers from 0 to 255, as images do, and otherwise as
/// numbers. Where no value is above 1 they are yes and no, which division by 255 would make all but equal.
fn settle(train: &mut Values, test: &mut Values) {
    let largest = train.largest_byte().zip(test.largest_byte());
    let as_bytes = largest.is_some_and(|(train, test)| train.max(test) > 1);
    for values in [train, test] {
        *values = match std::mem::replace(values, Values::Bytes(Vec::new())) {
            Values::Numbers(numbers) if as_bytes => {
                Values::Bytes(numbers.iter().map(|&number| number as u8).collect())
            }
            Values::Bytes(bytes) if !as_bytes => {
                Values::Numbers(bytes.iter().map(|&byte| f32::from(byte)).collect())
            }
            same => same,
        };
    }
}

impl Values {
    /// The largest value, if all are whole numbers from 0 to 255.
    fn largest_byte(&self) -> Option<u8> {
        let byte = |&number: &f32| {
            let byte = number as u8;
            (f32::from(byte) == number).then_some(byte)
        };
        match self {
            Self::Bytes(bytes) => Some(bytes.iter().copied().max().unwrap_or(0)),
            Self::Numbers(numbers) => numbers
                .iter()
                .map(byte)
                .try_fold(0, |largest: u8, byte| Some(largest.max(byte?))),
            Self::Tokens(_) => None,
        }
    }

    fn shrink(&mut self) {
        match self {
            Self::Bytes(bytes) => bytes.shrink_to_fit(),
            Self::Numbers(numbers) => numbers.shrink_to_fit(),
            Self::Tokens(tokens) => tokens.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(values: &[f32], labels: &[u32], test: Option<Part>) -> Parts {
        Parts {
            place: String::from("here"),
            train: Part {
                values: Values::Numbers(values.to_vec()),
                labels: labels.to_vec(),
            },
            test,
            notices: Vec::new(),
            advice: "put some in",
        }
    }

    fn info(features: usize, classes: usize) -> SourceInfo {
        let names = (0..classes).map(|class| class.to_string()).collect();
        SourceInfo::classes_of("test", vec![features], names)
    }

    #[test]
    fn the_same_share_of_each_class_is_held_out() {
        // The classes in turn, where every tenth sample would be of one class.
        let labels: Vec<u32> = (0..1_000).map(|i| i % 10).collect();
        let taken = held_out(&labels, 10, 0.1);
        for class in 0..10 {
            let of_class = labels
                .iter()
                .zip(&taken)
                .filter(|&(&l, &t)| l == class && t);
            assert_eq!(of_class.count(), 10, "class {class}");
        }
        // Sorted by class, and shares that no float is exactly.
        for (share, count) in [(0.1, 10), (0.3, 30), (0.7, 70), (0.999, 99)] {
            let labels: Vec<u32> = (0..200).map(|i| i / 100).collect();
            let taken = held_out(&labels, 2, share);
            assert_eq!(taken.iter().filter(|&&t| t).count(), 2 * count, "{share}");
        }
    }

    #[test]
    fn one_sample_at_least_is_held_out_and_one_kept() {
        assert_eq!(held_out(&[0, 1, 2], 3, 0.1), [false, false, true]);
        assert_eq!(held_out(&[0, 0], 1, 0.999_999_9), [false, true]);
        let split = parts(&[1.0, 2.0], &[0, 0], None)
            .split(info(1, 1), 0.5)
            .unwrap();
        assert_eq!((split.train.len(), split.test.len()), (1, 1));
        let one = parts(&[1.0], &[0], None)
            .split(info(1, 1), 0.5)
            .unwrap_err();
        assert!(
            one.to_string().starts_with("here: there is only 1 sample"),
            "{one}"
        );
    }

    /// DL-21: without samples there is no training.
    #[test]
    fn no_samples_are_an_error_and_an_empty_test_part_is_a_notice() {
        let none = parts(&[], &[], None).split(info(1, 1), 0.5).unwrap_err();
        assert_eq!(
            none.to_string(),
            "here: there are no samples in it; put some in"
        );
        let empty = Part {
            values: Values::Bytes(Vec::new()),
            labels: Vec::new(),
        };
        let split = parts(&[1.0, 2.0], &[0, 0], Some(empty))
            .split(info(1, 1), 0.5)
            .unwrap();
        assert_eq!(split.test.len(), 1);
        assert_eq!(split.notices.len(), 1);
        assert!(split.notices[0].contains("its test part has no samples"));
    }

    #[test]
    fn rows_stay_with_their_labels() {
        let values: Vec<f32> = (0..40).map(|i| i as f32).collect();
        let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
        let split = parts(&values, &labels, None)
            .split(info(2, 2), 0.25)
            .unwrap();
        let mut all = Vec::new();
        for part in [&split.train, &split.test] {
            let Values::Bytes(bytes) = &part.values else {
                panic!("whole numbers below 256 are bytes: {part:?}")
            };
            for (row, label) in bytes.chunks(2).zip(&part.labels) {
                assert_eq!((row[0] / 2) as u32 % 2, *label);
                assert_eq!(row[1], row[0] + 1);
                all.push(row[0]);
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..20).map(|i| 2 * i).collect::<Vec<u8>>());
        assert_eq!(
            split.bytes(),
            40 + 20 * 4,
            "nothing is held beyond what is needed"
        );
    }

    #[test]
    fn both_parts_have_one_form() {
        let form = |train: &[f32], test: &[f32]| {
            let labels = vec![0; train.len()];
            let test = Part {
                values: Values::Numbers(test.to_vec()),
                labels: vec![0; test.len()],
            };
            let split = parts(train, &labels, Some(test))
                .split(info(1, 1), 0.5)
                .unwrap();
            let is_bytes = |part: &Dataset| matches!(part.values, Values::Bytes(_));
            assert_eq!(is_bytes(&split.train), is_bytes(&split.test));
            is_bytes(&split.train)
        };
        assert!(form(&[0.0, 255.0], &[3.0]));
        assert!(!form(&[0.0, 255.0], &[3.5]));
        assert!(!form(&[0.0, 256.0], &[3.0]));
        assert!(!form(&[-1.0, 5.0], &[3.0]));
        // Yes and no stay 0 and 1, but a zero beside larger numbers is one of them.
        assert!(!form(&[0.0, 1.0], &[1.0]));
        assert!(form(&[0.0, 1.0], &[2.0]));
    }
}
