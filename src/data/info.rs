//! What is known of a data set before any of it is loaded.

/// What is known of a data set before any of it is loaded: enough to build a model and plan its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// The word for it in `data.source`.
    pub name: String,
    /// What one sample is.
    pub samples: Samples,
}

/// What one sample of a data set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Samples {
    /// Numbers, with one class for all of them.
    Classes {
        /// Shape of one sample: [height, width, channels] of an image, otherwise [features].
        shape: Vec<usize>,
        /// What each class is called.
        class_names: Vec<String>,
    },
    /// A window of tokens, with the token that follows each of them.
    Text {
        /// Number of different tokens.
        vocabulary: usize,
    },
}

impl SourceInfo {
    /// A data set of classified samples.
    pub(super) fn classes_of(name: &str, shape: Vec<usize>, class_names: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            samples: Samples::Classes { shape, class_names },
        }
    }

    /// Number of features of one sample; 1 for text, whose samples are as long as the model's context.
    pub fn features(&self) -> usize {
        self.shape().iter().product()
    }

    /// Shape of one sample, [height, width, channels] of an image and [features] of anything else; empty for text.
    pub fn shape(&self) -> &[usize] {
        match &self.samples {
            Samples::Classes { shape, .. } => shape,
            Samples::Text { .. } => &[],
        }
    }

    /// Number of classes a label can name: for text each token is one.
    pub fn classes(&self) -> usize {
        match &self.samples {
            Samples::Classes { class_names, .. } => class_names.len(),
            Samples::Text { vocabulary } => *vocabulary,
        }
    }

    /// What each class is called; empty for text.
    pub fn class_names(&self) -> &[String] {
        match &self.samples {
            Samples::Classes { class_names, .. } => class_names,
            Samples::Text { .. } => &[],
        }
    }

    /// Whether the samples are text.
    pub fn is_text(&self) -> bool {
        matches!(self.samples, Samples::Text { .. })
    }
}
