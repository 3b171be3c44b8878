//! Tests of CIFAR-10: the order of colours, files of several sizes, and large offsets.

use super::*;
use crate::data::picked;
use crate::data::tests::{Folder, data, load, load_picked, noticed, refused, sample};
use std::fs::File;
use std::io::{Seek, Write};

/// A record whose red plane is `label * 10`, and green and blue count the pixels up and down.
fn record(label: u8) -> Vec<u8> {
    let mut record = vec![label];
    record.extend([label * 10; PLANE_BYTES]);
    record.extend((0..PLANE_BYTES).map(|pixel| pixel as u8));
    record.extend((0..PLANE_BYTES).map(|pixel| 255 - pixel as u8));
    record
}

fn records(labels: &[u8]) -> Vec<u8> {
    labels.iter().flat_map(|&label| record(label)).collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    for (place, name) in TRAIN_FILES.iter().enumerate() {
        folder.write(name, records(&[place as u8, 9]));
    }
    folder.write(TEST_FILE, records(&[7, 8]));
    folder
}

#[test]
fn a_folder_has_its_five_files_and_its_test_part() {
    let folder = folder();
    let split = load(&data("cifar-10", &folder.shown()), None).unwrap();
    assert_eq!(split.train.labels, [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]);
    assert_eq!(split.test.labels, [7, 8]);
    assert_eq!(split.info.shape(), [32, 32, 3]);
    assert_eq!(split.info.class_names()[9], "truck");
    assert!(split.notices.is_empty());
    // Pixel 5 of the first row: red of the label, green 5, blue 250.
    let image = sample(&split.train, 2);
    assert_eq!(image[15..18], [10.0 / 255.0, 5.0 / 255.0, 250.0 / 255.0]);
    assert_eq!(image.len(), split.info.features());
}

#[test]
fn one_file_is_divided() {
    let bytes = records(&[0, 1, 2, 3]);
    let split = load_picked("cifar-10", "cifar_tests.bin", &bytes).unwrap();
    assert_eq!(
        (split.train.labels, split.test.labels),
        (vec![0, 1, 2], vec![3])
    );
}

/// DL-21: an empty file is no error as long as others have samples.
#[test]
fn an_empty_file_among_several_is_a_notice() {
    let folder = folder();
    folder.write("data_batch_3.bin", []);
    let split = load(&data("cifar-10", &folder.shown()), None).unwrap();
    assert_eq!(split.train.len(), 8);
    noticed(
        &split,
        &["data_batch_3.bin: the file is empty, it adds no samples"],
    );
    for name in TRAIN_FILES {
        folder.write(name, []);
    }
    refused(
        load(&data("cifar-10", &folder.shown()), None),
        &["there are no samples in it; fetch"],
    );
    picked::offer("empty.bin", Vec::new());
    refused(
        load_picked("cifar-10", "cifar empty.bin", &[]),
        &["there are no samples in it"],
    );
}

#[test]
fn files_of_another_kind_are_refused_by_name() {
    let load = |bytes: &[u8]| load_picked("cifar-10", "cifar_bad.bin", bytes);
    refused(
        load(&[0; 100]),
        &[
            "picked:cifar_bad.bin: it has 100 bytes",
            "records of 3073",
            "cut off",
        ],
    );
    refused(load(&[0; 3074]), &["it may be of CIFAR-100"]);
    refused(
        load(&records(&[1, 10, 2])),
        &["label 1 is 10, allowed are 0 to 9"],
    );
}

#[test]
fn missing_files_are_named_with_what_may_be_there_instead() {
    let folder = folder();
    let path = folder.shown();
    std::fs::remove_file(folder.path("data_batch_2.bin")).unwrap();
    let load = || load(&data("cifar-10", &path), None);
    refused(
        load(),
        &[
            &path,
            "there is no data_batch_2.bin in it",
            "data_batch_5.bin and test_batch.bin",
        ],
    );
    folder.write("data_batch_2", [1]);
    refused(load(), &["data_batch_2 is of the version for Python"]);
    let outer = Folder::new();
    outer.write("cifar-10-batches-bin/readme", [1]);
    let data = data("cifar-10", &outer.shown());
    refused(
        crate::data::tests::load(&data, None),
        &["give the folder cifar-10-batches-bin in it"],
    );
}

/// DL-24: a record behind 4 GiB is found where it is, in a file most of which is a hole.
#[test]
fn offsets_are_64_bits_wide() {
    let folder = Folder::new();
    let path = folder.path("large.bin");
    let index = 4_300_000_000 / RECORD_BYTES + 1;
    let all = (5 << 30) / RECORD_BYTES;
    let mut file = File::create(&path).unwrap();
    file.set_len(all * RECORD_BYTES).unwrap();
    file.seek(SeekFrom::Start(index * RECORD_BYTES)).unwrap();
    file.write_all(&record(6)).unwrap();
    let mut opened = open(&path.display().to_string()).unwrap();
    assert_eq!(count_records(&opened).unwrap(), all);
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    read_records(&mut opened, index - 1, 3, &mut images, &mut labels).unwrap();
    assert_eq!(labels, [0, 6, 0]);
    assert_eq!(images[IMAGE_BYTES..IMAGE_BYTES + 3], [60, 0, 255]);
    assert!(images[..IMAGE_BYTES].iter().all(|&byte| byte == 0));
    // What a browser would say to the same file.
    let needed = all * IMAGE_BYTES as u64;
    let limit = crate::data::WASM_HOST_LIMIT_BYTES;
    refused(
        crate::data::check_host_capacity(needed, limit),
        &["5.00 GiB", "4.00 GiB", "WebAssembly"],
    );
}
