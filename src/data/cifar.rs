//! The binary version of CIFAR-10 (Krizhevsky 2009): records of one label and a colour image, plane after plane.

use super::dataset::Values;
use super::error::DataError;
use super::file::{Opened, ReadSeek, open, reserve};
use super::info::SourceInfo;
use super::parts::{Part, Parts};
use crate::experiment;
use std::io::SeekFrom;

const CLASS_NAMES: [&str; 10] = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
];

/// Height and width of an image.
const SIDE: usize = 32;
const PLANE_BYTES: usize = SIDE * SIDE;
const CHANNELS: usize = 3;
const IMAGE_BYTES: usize = CHANNELS * PLANE_BYTES;

/// A label and an image.
const RECORD_BYTES: u64 = 1 + IMAGE_BYTES as u64;

/// Records of CIFAR-100 have two labels.
const CIFAR_100_RECORD_BYTES: u64 = RECORD_BYTES + 1;

#[cfg(not(target_arch = "wasm32"))]
const TRAIN_FILES: [&str; 5] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
];

#[cfg(not(target_arch = "wasm32"))]
const TEST_FILE: &str = "test_batch.bin";

const ADVICE: &str = "fetch the binary version of CIFAR-10 again";

/// What is known of the set without loading it.
pub(super) fn info(data: &experiment::Data) -> SourceInfo {
    let names = CLASS_NAMES.map(String::from).to_vec();
    SourceInfo::classes_of(&data.source, vec![SIDE, SIDE, CHANNELS], names)
}

/// Reads the folder or the file `path`.
pub(super) fn load(data: &experiment::Data, path: &str) -> Result<(SourceInfo, Parts), DataError> {
    #[cfg(not(target_arch = "wasm32"))]
    if !super::file::is_picked(path) && std::path::Path::new(path).is_dir() {
        return Ok((info(data), load_folder(path)?));
    }
    let mut notices = Vec::new();
    let parts = Parts {
        place: path.to_owned(),
        train: read_files(&mut [open(path)?], &mut notices)?,
        test: None,
        notices,
        advice: ADVICE,
    };
    Ok((info(data), parts))
}

#[cfg(not(target_arch = "wasm32"))]
fn load_folder(path: &str) -> Result<Parts, DataError> {
    let folder = std::path::Path::new(path);
    let open = |name: &str| {
        let file = folder.join(name);
        if file.exists() {
            return open(&file.display().to_string());
        }
        let stem = name.trim_end_matches(".bin");
        let hint = if folder.join(stem).exists() {
            format!("{stem} is of the version for Python, fetch the binary version")
        } else if folder.join("cifar-10-batches-bin").exists() {
            String::from("give the folder cifar-10-batches-bin in it")
        } else {
            let names = TRAIN_FILES.join(", ");
            format!(
                "the folder must hold {names} and {TEST_FILE}; give one .bin file to read that alone"
            )
        };
        Err(DataError::format(
            path,
            format!("there is no {name} in it; {hint}"),
        ))
    };
    let mut train = TRAIN_FILES
        .iter()
        .map(|name| open(name))
        .collect::<Result<Vec<_>, _>>()?;
    let test = open(TEST_FILE)?;
    let mut notices = Vec::new();
    Ok(Parts {
        place: path.to_owned(),
        train: read_files(&mut train, &mut notices)?,
        test: Some(read_files(&mut [test], &mut notices)?),
        notices,
        advice: ADVICE,
    })
}

/// Reads all records of `files`, one file after another. An empty file has no records.
fn read_files(
    files: &mut [Opened<Box<dyn ReadSeek>>],
    notices: &mut Vec<String>,
) -> Result<Part, DataError> {
    let mut records = 0u64;
    for file in &*files {
        records += count_records(file)?;
        if file.bytes == 0 {
            notices.push(format!(
                "{}: the file is empty, it adds no samples",
                file.file
            ));
        }
    }
    let mut images = Vec::new();
    let mut labels = Vec::new();
    let place = files.first().map_or("", |file| file.file.as_str());
    reserve(
        place,
        &mut images,
        records.saturating_mul(IMAGE_BYTES as u64),
    )?;
    reserve(place, &mut labels, records)?;
    for file in files {
        let count = count_records(file)?;
        read_records(file, 0, count, &mut images, &mut labels)?;
    }
    Ok(Part {
        values: Values::Bytes(images),
        labels,
    })
}

/// Number of records in `file`.
fn count_records<R>(file: &Opened<R>) -> Result<u64, DataError> {
    let bytes = file.bytes;
    if bytes.is_multiple_of(RECORD_BYTES) {
        return Ok(bytes / RECORD_BYTES);
    }
    let hint = if bytes.is_multiple_of(CIFAR_100_RECORD_BYTES) {
        "it may be of CIFAR-100, which has 3074: fetch CIFAR-10"
    } else {
        "the file is cut off or of another kind, fetch the binary version of CIFAR-10 again"
    };
    Err(DataError::format(
        &file.file,
        format!("it has {bytes} bytes, which are no whole records of {RECORD_BYTES}; {hint}"),
    ))
}

/// Reads `count` records from record `first` on. Images become [height, width, channels].
fn read_records<R: ReadSeek>(
    file: &mut Opened<R>,
    first: u64,
    count: u64,
    images: &mut Vec<u8>,
    labels: &mut Vec<u32>,
) -> Result<(), DataError> {
    let read_error = |error: std::io::Error| DataError::read(&file.file, &error);
    let offset = first.saturating_mul(RECORD_BYTES);
    file.reader
        .seek(SeekFrom::Start(offset))
        .map_err(read_error)?;
    let mut record = [0; RECORD_BYTES as usize];
    for index in first..first + count {
        file.reader.read_exact(&mut record).map_err(read_error)?;
        let (label, planes) = record.split_at(1);
        let label = label.first().copied().unwrap_or_default();
        if usize::from(label) >= CLASS_NAMES.len() {
            return Err(DataError::LabelOutOfRange {
                file: file.file.clone(),
                index,
                value: u64::from(label),
                largest: CLASS_NAMES.len() - 1,
            });
        }
        labels.push(u32::from(label));
        let pixels =
            (0..PLANE_BYTES).flat_map(|pixel| (0..CHANNELS).map(move |channel| (pixel, channel)));
        images.extend(pixels.map(|(pixel, channel)| planes[channel * PLANE_BYTES + pixel]));
    }
    Ok(())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "cifar_tests.rs"]
mod tests;
