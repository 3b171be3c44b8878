//! Tests of pairs of arrays: names, shapes, labels, archives and folders.

use super::*;
use crate::data::npy::tests::npy;
use crate::data::tests::{Folder, data, load, load_picked, noticed, refused, sample};
use crate::data::{Split, source_info};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

type Array<'a> = (&'a str, Vec<u8>);

fn archive(arrays: &[Array<'_>], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn bytes(shape: &str, body: &[u8]) -> Vec<u8> {
    npy("|u1", false, shape, body)
}

/// Loads the arrays as an archive, and checks that a folder and another compression give the same.
fn load_arrays(arrays: &[Array<'_>]) -> Result<Split, DataError> {
    let folder = Folder::new();
    let file = folder.write("a.npz", archive(arrays, CompressionMethod::Stored));
    let split = load(&data("npy", &file), None);
    match (&split, source_info(&data("npy", &file))) {
        (Ok(split), Ok(info)) => assert_eq!(split.info, info),
        (Ok(_), Err(error)) => panic!("loaded, but: {error}"),
        _ => {}
    }
    let packed = folder.write("b.npz", archive(arrays, CompressionMethod::Deflated));
    for (name, bytes) in arrays {
        folder.write(&format!("arrays/{name}.npy"), bytes);
    }
    let folder = folder.path("arrays").display().to_string();
    for path in [packed, folder] {
        let other = load(&data("npy", &path), None);
        match (&split, &other) {
            (Ok(split), Ok(other)) => {
                assert_eq!((&split.train, &split.test), (&other.train, &other.test));
                assert_eq!(split.info, other.info);
            }
            (Err(_), Err(_)) => {}
            _ => panic!("{path} differs: {other:?}"),
        }
    }
    split
}

#[test]
fn pairs_are_found_by_their_usual_names() {
    let x = || bytes("(4, 2)", &[1, 2, 3, 4, 5, 6, 7, 8]);
    let y = || {
        npy(
            "<i8",
            false,
            "(4,)",
            &[2u64, 0, 1, 2].map(u64::to_le_bytes).concat(),
        )
    };
    for (samples, labels) in [
        ("x", "y"),
        ("X", "y"),
        ("images", "labels"),
        ("x_train", "y_train"),
    ] {
        let split = load_arrays(&[(samples, x()), (labels, y())]).unwrap();
        assert_eq!(
            (split.train.labels, split.test.labels),
            (vec![2, 0, 1], vec![2]),
            "{samples}"
        );
        assert_eq!(split.info.class_names(), ["0", "1", "2"]);
        assert_eq!(split.info.shape(), [2]);
    }
    for (train, test) in [
        (("x_train", "y_train"), ("x_test", "y_test")),
        (
            ("train_images", "train_labels"),
            ("test_images", "test_labels"),
        ),
    ] {
        let (few, more) = (bytes("(1, 2)", &[9, 9]), bytes("(1, 1)", &[4]));
        let split = load_arrays(&[
            (train.0, x()),
            (train.1, y()),
            (test.0, few),
            (test.1, more),
        ])
        .unwrap();
        assert_eq!(
            (split.train.len(), split.test.labels.as_slice()),
            (4, &[4][..])
        );
        assert_eq!(split.info.classes(), 5, "classes of both parts count");
    }
    let picked = archive(&[("x", x()), ("y", y())], CompressionMethod::Deflated);
    assert_eq!(
        load_picked("npy", "npz_tests.npz", &picked)
            .unwrap()
            .train
            .len(),
        3
    );
}

#[test]
fn images_have_their_channels_last() {
    let y = || bytes("(2,)", &[0, 1]);
    let split = load_arrays(&[("x", bytes("(2, 5, 6)", &[7; 60])), ("y", y())]).unwrap();
    assert_eq!(split.info.shape(), [5, 6, 1]);
    let body: Vec<u8> = (0..2 * 2 * 5 * 3).collect();
    let last = load_arrays(&[("x", bytes("(2, 2, 5, 3)", &body)), ("y", y())]).unwrap();
    assert_eq!(last.info.shape(), [2, 5, 3]);
    // The same images as PyTorch keeps them.
    let first: Vec<u8> = (0..60u8)
        .map(|i| i / 30 * 30 + i % 10 * 3 + i / 10 % 3)
        .collect();
    let first = load_arrays(&[("x", bytes("(2, 3, 2, 5)", &first)), ("y", y())]).unwrap();
    assert_eq!(first.info.shape(), [2, 5, 3]);
    assert_eq!(first.train, last.train);
    assert_eq!(first.test, last.test);
    assert_eq!(sample(&last.train, 0)[..3], [0.0, 1.0 / 255.0, 2.0 / 255.0]);
}

#[test]
fn floats_stay_and_whole_bytes_are_kept_small() {
    let floats = |values: [f32; 4]| {
        npy(
            "<f4",
            false,
            "(4, 1)",
            &values.map(f32::to_le_bytes).concat(),
        )
    };
    let y = || bytes("(4,)", &[0, 1, 0, 1]);
    let split = load_arrays(&[("x", floats([0.5, -1.0, 2.0, 3.0])), ("y", y())]).unwrap();
    assert_eq!(sample(&split.train, 1), [-1.0]);
    let split = load_arrays(&[("x", floats([0.0, 51.0, 255.0, 1.0])), ("y", y())]).unwrap();
    assert_eq!(sample(&split.train, 1), [0.2]);
    assert_eq!(split.bytes(), 4 + 4 * 4);
}

#[test]
fn labels_must_be_numbers_of_classes() {
    let x = || bytes("(2, 1)", &[1, 2]);
    let floats =
        |values: [f32; 2]| npy("<f4", false, "(2,)", &values.map(f32::to_le_bytes).concat());
    for (labels, parts) in [
        (
            floats([0.0, 0.5]),
            &["y", "label 1 is 0.5", "numpy.unique"][..],
        ),
        (floats([-1.0, 1.0]), &["label 0 is -1"]),
        (floats([1.0, 65536.0]), &["label 1 is 65536", "0 to 65535"]),
        (
            bytes("(2, 3)", &[0; 6]),
            &["its shape is 2x3", "numpy.argmax"],
        ),
        (
            bytes("()", &[0]),
            &["labels need one class number per sample"],
        ),
        (
            bytes("(3,)", &[0; 3]),
            &["array x has 2 images", "array y has 3 labels"],
        ),
        (
            npy("<U3", false, "(2,)", &[0; 24]),
            &["its elements are '<U3'"],
        ),
    ] {
        let packed = archive(
            &[("x", x()), ("y", labels.clone())],
            CompressionMethod::Stored,
        );
        refused(load_picked("npy", "npz_labels.npz", &packed), parts);
        assert!(load_arrays(&[("x", x()), ("y", labels)]).is_err());
    }
    assert!(load_arrays(&[("x", x()), ("y", floats([1.0, 0.0]))]).is_ok());
}

#[test]
fn shapes_that_are_no_samples_are_refused() {
    for (shape, size) in [
        ("(2, 1, 1, 1, 1)", 2),
        ("()", 1),
        ("(2, 0)", 0),
        ("(2, 3, 0)", 0),
    ] {
        let arrays = [
            ("x", bytes(shape, &vec![0; size])),
            ("y", bytes("(2,)", &[0, 1])),
        ];
        refused(
            load_arrays(&arrays),
            &["its shape is", "[samples, height, width, channels]"],
        );
    }
    let one = || bytes("(1,)", &[0]);
    let arrays = [
        ("x_train", bytes("(1, 2)", &[0; 2])),
        ("y_train", one()),
        ("x_test", bytes("(1, 3)", &[0; 3])),
        ("y_test", one()),
    ];
    refused(
        load_arrays(&arrays),
        &["x_train has the shape [2]", "x_test [3]"],
    );
}

/// DL-21: an array without rows is no error as long as others have some.
#[test]
fn arrays_without_rows_are_noticed() {
    let empty = || (bytes("(0, 2)", &[]), bytes("(0,)", &[]));
    let train = [
        ("x_train", bytes("(2, 2)", &[1, 2, 3, 4])),
        ("y_train", bytes("(2,)", &[0, 1])),
    ];
    let (x, y) = empty();
    let split = load_arrays(&[&train[..], &[("x_test", x), ("y_test", y)]].concat()).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (1, 1));
    assert!(
        split.notices[0].contains("array x_test: the array has no rows"),
        "{:?}",
        split.notices
    );
    assert!(
        split.notices[1].contains("held out instead"),
        "{:?}",
        split.notices
    );
    let (x, y) = empty();
    refused(
        load_arrays(&[("x", x), ("y", y)]),
        &["there are no samples in it; save arrays"],
    );
    noticed(
        &load_arrays(&[&train[..], &[("x_test", empty().0), ("y_test", empty().1)]].concat())
            .map(|mut split| {
                split.notices.truncate(1);
                split
            })
            .unwrap(),
        &["x_test"],
    );
}

#[test]
fn files_that_are_no_pairs_are_refused_by_name() {
    refused(
        load_arrays(&[("a", bytes("(1,)", &[1])), ("b", bytes("(1,)", &[1]))]),
        &["its arrays are: a, b;", "x and y"],
    );
    refused(
        load_picked("npy", "not.npz", b"no archive"),
        &["picked:not.npz: this is no NPZ file", "numpy.savez"],
    );
    refused(
        load_picked("npy", "single.npy", &bytes("(1,)", &[1])),
        &[
            "one array is not enough",
            "the folder that holds x.npy and y.npy",
        ],
    );
    refused(
        load_picked(
            "npy",
            "nothing.npz",
            &archive(&[], CompressionMethod::Stored),
        ),
        &["its arrays are: none"],
    );
}

#[test]
fn damaged_archives_are_errors_and_no_panics() {
    let arrays = [
        ("x", bytes("(50, 4)", &[9; 200])),
        ("y", bytes("(50,)", &[1; 50])),
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let sound = archive(&arrays, method);
        for place in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[place] ^= 0x55;
            // Some bytes are times and flags that change nothing.
            let _ = load_picked("npy", "damaged.npz", &damaged);
            assert!(
                load_picked("npy", "cut.npz", &sound[..place]).is_err(),
                "cut at {place}"
            );
        }
        let mut damaged = sound.clone();
        let body = sound.windows(4).position(|window| window == [9; 4]);
        if let Some(body) = body {
            damaged[body] = 8;
            refused(
                load_picked("npy", "sum.npz", &damaged),
                &[
                    "picked:sum.npz: array x: it is damaged",
                    "save the file again",
                ],
            );
        }
    }
}
