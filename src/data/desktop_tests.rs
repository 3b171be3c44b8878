//! Tests of loading: the shipped subset, and folders with something wrong in them.

use super::*;
use crate::data::tests::{data, refused};
use crate::data::{Values, source_info};
use crate::experiment::Data;
use std::fs;
use std::path::PathBuf;

/// A folder with four small sound files, which a test then spoils.
struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for (files, count) in [(&TRAIN_FILES, 3), (&TEST_FILES, 2)] {
            folder.images(files.images, count, 28);
            folder.labels(files.labels, &[9, 0, 5][..count as usize]);
        }
        folder
    }

    fn images(&self, name: &str, count: u32, side: u32) {
        let header = [0x803, count, side, side];
        let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_be_bytes).collect();
        file.resize(16 + (count * side * side) as usize, 7);
        fs::write(self.path(name), file).unwrap();
    }

    fn labels(&self, name: &str, labels: &[u8]) {
        let header = [0x801, labels.len() as u32];
        let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_be_bytes).collect();
        file.extend(labels);
        fs::write(self.path(name), file).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn load(&self) -> Result<Split, DataError> {
        load_path(&self.root.path().display().to_string())
    }

    #[track_caller]
    fn refused(&self, parts: &[&str]) {
        refused(self.load(), parts);
    }
}

fn load_path(path: &str) -> Result<Split, DataError> {
    fashion(Some(path))
}

#[test]
fn the_shipped_subset_is_sound_and_balanced() {
    let split = fashion(None).unwrap();
    assert_eq!(
        split.info,
        source_info(&Data::new("fashion-mnist", 1)).unwrap()
    );
    for (part, per_class) in [(&split.train, 900), (&split.test, 100)] {
        let Values::Bytes(images) = &part.values else {
            panic!("images are bytes")
        };
        assert_eq!(images.len(), part.len() * part.features());
        for class in 0..10 {
            let of_class = part.labels.iter().filter(|&&label| label == class).count();
            assert_eq!(of_class, per_class, "class {class}");
        }
        // The mean grey value of Fashion-MNIST is 0.286: the pixels are those of the set and in the right place.
        let sum: u64 = images.iter().map(|&pixel| u64::from(pixel)).sum();
        let mean = sum as f64 / images.len() as f64 / 255.0;
        assert!((mean - 0.286).abs() < 0.005, "{mean}");
    }
    assert_eq!(split.bytes(), 10_000 * (784 + 4));
}

#[test]
fn a_folder_is_read_plain_or_with_gz() {
    let folder = Folder::new();
    let plain = folder.load().unwrap();
    assert_eq!((plain.train.len(), plain.test.len()), (3, 2));
    assert_eq!(plain.train.labels, [9, 0, 5]);
    // The content says what is compressed, so a plain file under this name is read too.
    let name = TRAIN_FILES.images;
    fs::rename(folder.path(name), folder.path(&format!("{name}.gz"))).unwrap();
    assert_eq!(folder.load().unwrap(), plain);
}

#[test]
fn a_missing_folder_or_file_names_what_belongs_there() {
    let text = load_path("/nowhere/at all").unwrap_err().to_string();
    assert!(text.contains("/nowhere/at all"), "{text}");
    assert!(text.contains("t10k-labels-idx1-ubyte"), "{text}");
    let folder = Folder::new();
    fs::remove_file(folder.path("t10k-images-idx3-ubyte")).unwrap();
    folder.refused(&[
        "neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz",
        "train-images-idx3-ubyte",
    ]);
}

#[test]
fn images_and_labels_must_be_equally_many() {
    let folder = Folder::new();
    folder.labels(TRAIN_FILES.labels, &[1, 2]);
    folder.refused(&[
        "train-images-idx3-ubyte has 3 images",
        "train-labels-idx1-ubyte has 2 labels",
    ]);
}

#[test]
fn a_label_beyond_the_classes_is_named_with_its_place() {
    let folder = Folder::new();
    folder.labels(TEST_FILES.labels, &[9, 10]);
    folder.refused(&[
        "t10k-labels-idx1-ubyte",
        "label 1 is 10",
        "allowed are 0 to 9",
    ]);
}

#[test]
fn images_of_another_size_are_refused() {
    let folder = Folder::new();
    folder.images(TRAIN_FILES.images, 3, 8);
    folder.refused(&[
        "train-images-idx3-ubyte",
        "8x8 pixels",
        "fashion-mnist has 28x28",
    ]);
}

#[test]
fn swapped_files_are_told_apart() {
    let folder = Folder::new();
    let labels = fs::read(folder.path(TRAIN_FILES.labels)).unwrap();
    fs::write(folder.path(TRAIN_FILES.images), labels).unwrap();
    folder.refused(&["found 0x00000801, expected 0x00000803", "swapped"]);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_no_panic() {
    let folder = Folder::new();
    fs::remove_file(folder.path(TRAIN_FILES.images)).unwrap();
    fs::create_dir(folder.path(TRAIN_FILES.images)).unwrap();
    folder.refused(&["cannot read", "train-images-idx3-ubyte"]);
}

#[test]
fn an_experiment_loads_its_data_in_one_go_on_the_desktop() {
    let folder = Folder::new();
    let path = folder.root.path().display().to_string();
    let split = crate::data::tests::load(&data("fashion-mnist", &path), None).unwrap();
    assert_eq!(split, folder.load().unwrap());
    assert_eq!(split.info.shape(), [28, 28, 1]);
}
