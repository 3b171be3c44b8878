//! Fashion-MNIST: two pairs of IDX files.

use super::dataset::{Dataset, Split, Values};
use super::error::DataError;
use super::file::Opened;
use super::idx;
use super::info::SourceInfo;
use std::io::BufRead;

pub(super) const NAME: &str = "fashion-mnist";

/// Rows and columns of an image.
const SIDE: usize = 28;

const CLASS_NAMES: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

/// The two files of a part of the set, without the ending `.gz` they may have.
pub(super) struct PartFiles {
    pub(super) images: &'static str,
    pub(super) labels: &'static str,
}

pub(super) const TRAIN_FILES: PartFiles = PartFiles {
    images: "train-images-idx3-ubyte",
    labels: "train-labels-idx1-ubyte",
};

pub(super) const TEST_FILES: PartFiles = PartFiles {
    images: "t10k-images-idx3-ubyte",
    labels: "t10k-labels-idx1-ubyte",
};

/// What is known of the set without loading it.
pub(super) fn info() -> SourceInfo {
    let names = CLASS_NAMES.map(String::from).to_vec();
    SourceInfo::classes_of(NAME, vec![SIDE, SIDE, 1], names)
}

/// Both parts as one.
pub(super) fn split(train: Dataset, test: Dataset) -> Split {
    Split {
        info: info(),
        train,
        test,
        codec: None,
        notices: Vec::new(),
    }
}

/// Reads a pair of files and checks that they belong together and to the set.
pub(super) fn read_part<R: BufRead>(
    images: Opened<R>,
    labels: Opened<R>,
) -> Result<Dataset, DataError> {
    let pixels = idx::read_images(&images.file, images.reader, images.bytes)?;
    if [pixels.rows, pixels.columns] != [SIDE, SIDE] {
        return Err(DataError::WrongShape {
            file: images.file,
            found: format!("{}x{}", pixels.rows, pixels.columns),
            expected: format!("{SIDE}x{SIDE}"),
            dataset: NAME.to_owned(),
        });
    }
    let classes = idx::read_labels(&labels.file, labels.reader, labels.bytes)?;
    if pixels.count != classes.len() {
        return Err(DataError::CountMismatch {
            images_file: images.file,
            images: pixels.count as u64,
            labels_file: labels.file,
            labels: classes.len() as u64,
        });
    }
    let n_classes = CLASS_NAMES.len();
    let wrong = classes
        .iter()
        .enumerate()
        .find(|&(_, &label)| usize::from(label) >= n_classes);
    if let Some((index, &value)) = wrong {
        return Err(DataError::LabelOutOfRange {
            file: labels.file,
            index: index as u64,
            value: u64::from(value),
            largest: n_classes - 1,
        });
    }
    Ok(Dataset {
        features: SIDE * SIDE,
        values: Values::Bytes(pixels.pixels),
        labels: classes.into_iter().map(u32::from).collect(),
    })
}
