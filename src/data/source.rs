//! The known data sets: where their files are on each platform, and how a pair of files becomes a [`Dataset`].

use super::dataset::{Dataset, Split};
use super::error::DataError;
use super::idx;
use crate::experiment;
use std::io::BufRead;

/// What is known of a data set before any of it is loaded: enough to build a model and plan its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// The word for it in `data.source`.
    pub name: &'static str,
    /// Shape of one sample, for images [rows, columns].
    pub sample_shape: &'static [usize],
    /// What each class is called.
    pub class_names: &'static [&'static str],
}

/// Every known data set.
const SOURCES: &[SourceInfo] = &[SourceInfo {
    name: "fashion-mnist",
    sample_shape: &[28, 28],
    class_names: &[
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
    ],
}];

/// Host memory that 32-bit WebAssembly can address, in bytes.
pub const WASM_HOST_LIMIT_BYTES: u64 = 1 << 32;

/// Refuses to load more than fits, before anything is allocated: memory of WebAssembly that has grown never shrinks.
///
/// # Errors
/// [`DataError::HostCapacity`] where `bytes` is above `limit_bytes`.
pub fn check_host_capacity(bytes: u64, limit_bytes: u64) -> Result<(), DataError> {
    if bytes <= limit_bytes {
        return Ok(());
    }
    Err(DataError::HostCapacity {
        bytes,
        limit_bytes,
        limited_by: if limit_bytes == WASM_HOST_LIMIT_BYTES {
            "the limit of 32-bit WebAssembly in a browser"
        } else {
            "the largest single block of memory here"
        },
    })
}

/// Refuses one block of memory that this build can never have.
pub(super) fn check_block(bytes: u64) -> Result<(), DataError> {
    if cfg!(target_arch = "wasm32") {
        check_host_capacity(bytes, WASM_HOST_LIMIT_BYTES)?;
    }
    check_host_capacity(bytes, isize::MAX as u64)
}

impl SourceInfo {
    /// Number of features of one sample.
    pub fn features(&self) -> usize {
        self.sample_shape.iter().product()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.class_names.len()
    }
}

/// What is known of the data set `source` without loading it.
///
/// # Errors
/// [`DataError::UnknownSource`] with the known names.
pub fn source_info(source: &str) -> Result<SourceInfo, DataError> {
    SOURCES
        .iter()
        .find(|info| info.name == source)
        .copied()
        .ok_or_else(|| {
            let names: Vec<_> = SOURCES.iter().map(|info| info.name).collect();
            DataError::UnknownSource {
                found: source.to_owned(),
                allowed: names.join(", "),
            }
        })
}

/// Loads the training and the test part of the data of an experiment.
///
/// On the desktop that is the folder `data.path`, or the subset inside the program; in the browser, where there are no
/// folders, the subset beside the page.
///
/// # Errors
/// Each [`DataError`], with the file and what to do.
pub async fn load(data: &experiment::Data) -> Result<Split, DataError> {
    let info = source_info(&data.source)?;
    #[cfg(target_arch = "wasm32")]
    let split = super::browser::load(&info, data.path.as_deref()).await;
    #[cfg(not(target_arch = "wasm32"))]
    let split = super::desktop::load(&info, data.path.as_deref());
    split
}

/// The two files of a part of a set, without the ending `.gz` they may have.
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

/// An open file.
pub(super) struct Opened<R> {
    /// Its path or address, for messages.
    pub(super) file: String,
    pub(super) reader: R,
    /// Bytes the reader gives.
    pub(super) bytes: u64,
}

impl<'a> Opened<&'a [u8]> {
    /// A file that is in memory already.
    pub(super) fn of_bytes(file: &str, bytes: &'a [u8]) -> Self {
        Self {
            file: file.to_owned(),
            reader: bytes,
            bytes: bytes.len() as u64,
        }
    }
}

/// Reads a pair of files and checks that they belong together and to `info`.
pub(super) fn read_part<R: BufRead>(
    info: &SourceInfo,
    images: Opened<R>,
    labels: Opened<R>,
) -> Result<Dataset, DataError> {
    let pixels = idx::read_images(&images.file, images.reader, images.bytes)?;
    if [pixels.rows, pixels.columns] != *info.sample_shape {
        let expected: Vec<_> = info.sample_shape.iter().map(ToString::to_string).collect();
        return Err(DataError::WrongShape {
            file: images.file,
            found: format!("{}x{}", pixels.rows, pixels.columns),
            expected: expected.join("x"),
            dataset: info.name.to_owned(),
        });
    }
    let classes = idx::read_labels(&labels.file, labels.reader, labels.bytes)?;
    if pixels.count != classes.len() {
        return Err(DataError::CountMismatch {
            images_file: images.file,
            images: pixels.count,
            labels_file: labels.file,
            labels: classes.len(),
        });
    }
    let dataset = Dataset {
        name: info.name.to_owned(),
        sample_shape: info.sample_shape.to_vec(),
        classes: info.classes(),
        class_names: info.class_names.iter().map(ToString::to_string).collect(),
        images: pixels.pixels,
        labels: classes,
    };
    dataset.check_labels(&labels.file)?;
    Ok(dataset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-20: memory of WebAssembly never shrinks, so what cannot fit is refused before a byte is allocated.
    #[test]
    fn loads_above_the_limit_of_wasm_are_refused_up_front() {
        let gb = 1_000_000_000;
        for fits in [gb / 2, 3 * gb / 2, WASM_HOST_LIMIT_BYTES] {
            assert!(check_host_capacity(fits, WASM_HOST_LIMIT_BYTES).is_ok());
        }
        for bytes in [5 * gb, WASM_HOST_LIMIT_BYTES + 1, u64::MAX] {
            let error = check_host_capacity(bytes, WASM_HOST_LIMIT_BYTES).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("4.00 GiB") && text.contains("WebAssembly"),
                "{text}"
            );
            assert!(text.contains("desktop program"), "{text}");
        }
    }

    #[test]
    fn unknown_sources_name_the_known_ones() {
        let text = source_info("mnist").unwrap_err().to_string();
        assert!(
            text.contains("\"mnist\"") && text.contains("allowed: fashion-mnist"),
            "{text}"
        );
        let info = source_info("fashion-mnist").unwrap();
        assert_eq!((info.features(), info.classes()), (784, 10));
    }
}
