//! Samples in host memory, and the rows of a batch made of them.

use super::codec::Codec;
use super::info::SourceInfo;
use std::sync::Arc;

/// Label of a row that pads a short batch: no class, so the loss leaves the row out.
pub const PADDING_LABEL: u32 = u32::MAX;

/// What a run learns from and what it is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// What the samples are.
    pub info: SourceInfo,
    /// Samples to learn from.
    pub train: Dataset,
    /// Samples that are never learned from.
    pub test: Dataset,
    /// How text becomes tokens and back; nothing for samples that are no text.
    pub codec: Option<Arc<Codec>>,
    /// What the user should know about the files, such as that some were skipped: one sentence each.
    pub notices: Vec<String>,
}

/// Samples of one part (training or test) with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Number of features of one sample; for text the tokens of one sample, its context.
    pub features: usize,
    /// All samples one after another.
    pub values: Values,
    /// The class of each sample, shape [len]; empty for text, where the tokens that follow are the labels.
    pub labels: Vec<u32>,
}

/// The samples of one part, in the form in which they take the least memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Bytes that stand for 0 to 1: shape [len, features].
    Bytes(Vec<u8>),
    /// Numbers as they are: shape [len, features].
    Numbers(Vec<f32>),
    /// A text, of which sample `i` is the tokens from `i * features` on. Vocabularies have at most 65,536 tokens.
    Tokens(Vec<u16>),
}

/// The rows of a batch as the device takes them. It keeps its memory between calls of [`Dataset::fill`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Bit patterns of F32 numbers, shape [rows, features], or tokens, shape [rows, context].
    pub features: Vec<u32>,
    /// The class of each row, shape [rows], or the token that follows each token, shape [rows * context];
    /// [`PADDING_LABEL`] where there is none.
    pub labels: Vec<u32>,
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
        match &self.values {
            Values::Tokens(tokens) => n_targets(tokens).div_ceil(self.features.max(1)),
            _ => self.labels.len(),
        }
    }

    /// Whether there are no samples; never so for a set that was loaded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features of one sample; for text the tokens of one sample.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Host bytes held by the samples and their labels, unused capacity included.
    pub fn bytes(&self) -> u64 {
        self.values.bytes() + (self.labels.capacity() * size_of::<u32>()) as u64
    }

    /// Number of labels of the samples `indices` that are no padding: what a mean over these samples divides by.
    pub fn targets(&self, indices: &[u32]) -> usize {
        match &self.values {
            Values::Tokens(tokens) => {
                let of = |index: &u32| self.window(tokens, *index).1.len();
                indices.iter().map(of).sum()
            }
            _ => indices.len(),
        }
    }

    /// Writes the samples `indices` as a batch of `rows` rows. Bytes become numbers from 0 to 1 by division by 255.
    /// Rows beyond the indices, and the end of a window that the text does not fill, are zero and have
    /// [`PADDING_LABEL`].
    ///
    /// # Panics
    /// Where there are more indices than rows, or an index is not below [`Dataset::len`]: both are made by
    /// [`super::order`] and not by a user.
    pub fn fill(&self, indices: &[u32], rows: usize, batch: &mut Batch) {
        assert!(
            indices.len() <= rows,
            "{} samples do not fit into a batch of {rows} rows",
            indices.len()
        );
        let width = self.features;
        let labels_per_row = match &self.values {
            Values::Tokens(_) => width,
            _ => 1,
        };
        let Batch { features, labels } = batch;
        features.clear();
        labels.clear();
        features.reserve(rows * width);
        labels.reserve(rows * labels_per_row);
        for (row, &index) in indices.iter().enumerate() {
            let start = index as usize * width;
            match &self.values {
                Values::Bytes(bytes) => {
                    let scaled = |&byte: &u8| (f32::from(byte) / 255.0).to_bits();
                    features.extend(bytes[start..start + width].iter().map(scaled));
                    labels.push(self.labels[index as usize]);
                }
                Values::Numbers(numbers) => {
                    let sample = &numbers[start..start + width];
                    features.extend(sample.iter().map(|number| number.to_bits()));
                    labels.push(self.labels[index as usize]);
                }
                Values::Tokens(tokens) => {
                    let (inputs, targets) = self.window(tokens, index);
                    features.extend(inputs.iter().map(|&token| u32::from(token)));
                    labels.extend(targets.iter().map(|&token| u32::from(token)));
                    features.resize((row + 1) * width, 0);
                    labels.resize((row + 1) * width, PADDING_LABEL);
                }
            }
        }
        // The bit pattern of the number 0 is 0, as the first token is.
        features.resize(rows * width, 0);
        labels.resize(rows * labels_per_row, PADDING_LABEL);
    }

    /// The tokens of sample `index`, and those that follow each of them: equally many, and at least one.
    fn window<'t>(&self, tokens: &'t [u16], index: u32) -> (&'t [u16], &'t [u16]) {
        let start = index as usize * self.features;
        let end = (start + self.features).min(n_targets(tokens));
        (&tokens[start..end], &tokens[start + 1..end + 1])
    }
}

/// Tokens that are followed by another one.
fn n_targets(tokens: &[u16]) -> usize {
    tokens.len().saturating_sub(1)
}

impl Values {
    /// Host bytes held, unused capacity included.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.capacity(),
            Self::Numbers(numbers) => numbers.capacity() * size_of::<f32>(),
            Self::Tokens(tokens) => tokens.capacity() * size_of::<u16>(),
        };
        bytes as u64
    }
}

impl Batch {
    /// Host bytes held, unused capacity included.
    pub fn bytes(&self) -> u64 {
        ((self.features.capacity() + self.labels.capacity()) * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Dataset {
        Dataset {
            features: 2,
            values: Values::Bytes(vec![0, 51, 102, 153, 204, 255]),
            labels: vec![2, 0, 1],
        }
    }

    fn text(tokens: &[u16], context: usize) -> Dataset {
        Dataset {
            features: context,
            values: Values::Tokens(tokens.to_vec()),
            labels: Vec::new(),
        }
    }

    fn dirty() -> Batch {
        Batch {
            features: vec![f32::NAN.to_bits(); 99],
            labels: vec![7; 99],
        }
    }

    fn numbers(batch: &Batch) -> Vec<f32> {
        batch
            .features
            .iter()
            .map(|&bits| f32::from_bits(bits))
            .collect()
    }

    #[test]
    fn rows_are_scaled_and_short_batches_padded_over_old_content() {
        let mut batch = dirty();
        three().fill(&[2, 0], 3, &mut batch);
        assert_eq!(numbers(&batch), [0.8, 1.0, 0.0, 0.2, 0.0, 0.0]);
        assert_eq!(batch.labels, [1, 2, PADDING_LABEL]);
        assert_eq!(three().targets(&[2, 0]), 2);
    }

    #[test]
    fn numbers_are_left_as_they_are() {
        let mut set = three();
        set.values = Values::Numbers(vec![-1.5, 3e9, 0.0, 255.0, 1e-30, 7.0]);
        let mut batch = dirty();
        set.fill(&[1, 0], 2, &mut batch);
        assert_eq!(numbers(&batch), [0.0, 255.0, -1.5, 3e9]);
        assert_eq!(batch.labels, [0, 2]);
    }

    #[test]
    fn each_token_but_the_first_is_a_label_exactly_once() {
        let tokens: Vec<u16> = (10..20).collect();
        let set = text(&tokens, 4);
        assert_eq!((set.len(), set.features()), (3, 4));
        let mut batch = dirty();
        set.fill(&[2, 0], 3, &mut batch);
        let pad = PADDING_LABEL;
        assert_eq!(batch.features, [18, 0, 0, 0, 10, 11, 12, 13, 0, 0, 0, 0]);
        assert_eq!(
            batch.labels,
            [19, pad, pad, pad, 11, 12, 13, 14, pad, pad, pad, pad]
        );
        assert_eq!((set.targets(&[2, 0]), set.targets(&[0, 1, 2])), (5, 9));
    }

    #[test]
    fn windows_end_where_the_text_does() {
        for (length, context, samples) in [
            (9, 4, 2),
            (5, 4, 1),
            (6, 4, 2),
            (2, 4, 1),
            (1, 4, 0),
            (0, 4, 0),
            (3, 1, 2),
        ] {
            let tokens: Vec<u16> = (0..length).collect();
            let set = text(&tokens, context);
            assert_eq!(set.len(), samples, "{length} tokens, context {context}");
            let all: Vec<u32> = (0..samples as u32).collect();
            assert_eq!(set.targets(&all), usize::from(length.saturating_sub(1)));
            set.fill(&all, samples, &mut dirty());
        }
    }

    #[test]
    #[should_panic(expected = "2 samples do not fit into a batch of 1 rows")]
    fn more_samples_than_rows_are_never_cut_silently() {
        three().fill(&[0, 1], 1, &mut Batch::default());
    }

    #[test]
    fn bytes_count_what_is_held() {
        let mut set = three();
        set.labels.shrink_to_fit();
        assert_eq!(set.bytes(), 6 + 3 * 4);
        set.labels.reserve_exact(100);
        assert!(set.bytes() >= 6 + 103 * 4, "unused capacity is held too");
        set.values = Values::Tokens(vec![1, 2, 3]);
        set.labels = Vec::new();
        assert_eq!(set.bytes(), 6);
        let mut batch = Batch::default();
        assert_eq!(batch.bytes(), 0);
        three().fill(&[0], 8, &mut batch);
        assert_eq!(batch.bytes(), (16 + 8) * 4);
    }
}
