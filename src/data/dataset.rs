//! Samples in host memory, and the rows of a batch made of them.

use super::error::DataError;

/// Label of a row that pads a short batch: no class, so the loss leaves the row out.
pub const PADDING_LABEL: u32 = u32::MAX;

/// Samples of one part (training or test) with their labels, as the bytes of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Name of the source, for example `fashion-mnist`.
    pub name: String,
    /// Shape of one sample, for images [rows, columns].
    pub sample_shape: Vec<usize>,
    /// Number of classes; every label is below it.
    pub classes: usize,
    /// What each class is called; `classes` of them.
    pub class_names: Vec<String>,
    /// All samples one after another, one byte per feature: shape [len, features].
    pub images: Vec<u8>,
    /// The class of each sample: shape [len].
    pub labels: Vec<u8>,
}

/// What a run learns from and what it is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Samples to learn from.
    pub train: Dataset,
    /// Samples that are never learned from.
    pub test: Dataset,
}

impl Split {
    /// Host bytes held by both parts.
    pub fn bytes(&self) -> u64 {
        self.train.bytes() + self.test.bytes()
    }
}

impl Dataset {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no samples; never so for a set that was loaded.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of features of one sample.
    pub fn features(&self) -> usize {
        self.sample_shape.iter().product()
    }

    /// Host bytes held by the samples and their labels, unused capacity included.
    pub fn bytes(&self) -> u64 {
        (self.images.capacity() + self.labels.capacity()) as u64
    }

    /// Writes the samples `indices` as a batch of `rows` rows: `features` becomes [rows, self.features()] with values
    /// 0 to 1 (the byte divided by 255), `labels` becomes [rows]. Rows beyond the indices are zero and have
    /// [`PADDING_LABEL`]. Both vectors are overwritten and keep their memory between calls.
    ///
    /// # Panics
    /// Where there are more indices than rows, or an index is not below [`Dataset::len`]: both are made by
    /// [`super::order`] and not by a user.
    pub fn fill(
        &self,
        indices: &[u32],
        rows: usize,
        features: &mut Vec<f32>,
        labels: &mut Vec<u32>,
    ) {
        assert!(
            indices.len() <= rows,
            "{} samples do not fit into a batch of {rows} rows",
            indices.len()
        );
        let width = self.features();
        features.clear();
        labels.clear();
        features.reserve(rows * width);
        for &index in indices {
            let start = index as usize * width;
            let sample = &self.images[start..start + width];
            features.extend(sample.iter().map(|&byte| f32::from(byte) / 255.0));
            labels.push(u32::from(self.labels[index as usize]));
        }
        features.resize(rows * width, 0.0);
        labels.resize(rows, PADDING_LABEL);
    }

    /// Checks that every label names a class; `file` is where the labels came from.
    pub(super) fn check_labels(&self, file: &str) -> Result<(), DataError> {
        let wrong = self
            .labels
            .iter()
            .position(|&label| usize::from(label) >= self.classes);
        match wrong.and_then(|index| self.labels.get(index).map(|&value| (index, value))) {
            None => Ok(()),
            Some((index, value)) => Err(DataError::LabelOutOfRange {
                file: file.to_owned(),
                index,
                value,
                largest: self.classes.saturating_sub(1),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Dataset {
        Dataset {
            name: String::from("three"),
            sample_shape: vec![1, 2],
            classes: 3,
            class_names: ["a", "b", "c"].map(String::from).to_vec(),
            images: vec![0, 51, 102, 153, 204, 255],
            labels: vec![2, 0, 1],
        }
    }

    #[test]
    fn rows_are_scaled_and_short_batches_padded_over_old_content() {
        let mut features = vec![f32::NAN; 99];
        let mut labels = vec![7; 99];
        three().fill(&[2, 0], 3, &mut features, &mut labels);
        assert_eq!(features, [0.8, 1.0, 0.0, 0.2, 0.0, 0.0]);
        assert_eq!(labels, [1, 2, PADDING_LABEL]);
    }

    #[test]
    #[should_panic(expected = "2 samples do not fit into a batch of 1 rows")]
    fn more_samples_than_rows_are_never_cut_silently() {
        three().fill(&[0, 1], 1, &mut Vec::new(), &mut Vec::new());
    }

    #[test]
    fn bytes_count_what_is_held() {
        let mut set = three();
        set.images.shrink_to_fit();
        set.labels.shrink_to_fit();
        assert_eq!(set.bytes(), 9);
        set.labels.reserve_exact(100);
        assert!(set.bytes() >= 109, "unused capacity is held too");
    }
}
