//! Data on the desktop: Fashion-MNIST in a folder, and what comes inside the program.

use super::dataset::{Dataset, Split};
use super::error::DataError;
use super::fashion::{self, PartFiles, TEST_FILES, TRAIN_FILES, read_part};
use super::file::Opened;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The text that comes with the program, compressed.
const AUSTEN: &[u8] = include_bytes!("../../lessons/data/austen/austen.txt.gz");

/// Loads Fashion-MNIST from the folder `path`, or the subset that comes with the program.
pub(super) fn fashion(path: Option<&str>) -> Result<Split, DataError> {
    match path {
        Some(path) => Ok(fashion::split(
            part_of_folder(path, &TRAIN_FILES)?,
            part_of_folder(path, &TEST_FILES)?,
        )),
        None => subset(),
    }
}

/// The shipped text, compressed.
pub(super) fn austen() -> Opened<&'static [u8]> {
    Opened::of_bytes("austen.txt.gz", AUSTEN)
}

/// The subset, as it was when the program was built.
fn subset() -> Result<Split, DataError> {
    macro_rules! shipped {
        ($name:literal) => {
            Opened::of_bytes(
                $name,
                include_bytes!(concat!("../../lessons/data/fashion-mnist/", $name)),
            )
        };
    }
    let train = read_part(
        shipped!("train-images-idx3-ubyte.gz"),
        shipped!("train-labels-idx1-ubyte.gz"),
    )?;
    let test = read_part(
        shipped!("t10k-images-idx3-ubyte.gz"),
        shipped!("t10k-labels-idx1-ubyte.gz"),
    )?;
    Ok(fashion::split(train, test))
}

fn part_of_folder(path: &str, files: &PartFiles) -> Result<Dataset, DataError> {
    let images = open(path, files.images)?;
    let labels = open(path, files.labels)?;
    read_part(images, labels)
}

/// Opens `name` or `name.gz` in the folder `path`.
fn open(path: &str, name: &str) -> Result<Opened<BufReader<File>>, DataError> {
    let folder = Path::new(path);
    if !folder.is_dir() {
        return Err(DataError::NotAFolder {
            path: path.to_owned(),
            names: all_names(),
        });
    }
    for file in [folder.join(name), folder.join(format!("{name}.gz"))] {
        let display = file.display().to_string();
        let read_error = |error: std::io::Error| DataError::read(&display, &error);
        // A link to nowhere is a missing file, everything else that cannot be opened is told as it is.
        match File::open(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(read_error(error)),
            Ok(opened) => {
                let bytes = opened.metadata().map_err(read_error)?.len();
                return Ok(Opened {
                    file: display,
                    reader: BufReader::new(opened),
                    bytes,
                });
            }
        }
    }
    Err(DataError::MissingFile {
        path: path.to_owned(),
        name: name.to_owned(),
        names: all_names(),
    })
}

fn all_names() -> String {
    [
        TRAIN_FILES.images,
        TRAIN_FILES.labels,
        TEST_FILES.images,
        TEST_FILES.labels,
    ]
    .join(", ")
}

#[cfg(test)]
#[path = "desktop_tests.rs"]
mod tests;
