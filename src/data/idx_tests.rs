//! Tests of the IDX reader: good files in both forms, and each way a file can be bad.

use super::*;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

fn idx(magic: u32, sizes: &[u32], body: &[u8]) -> Vec<u8> {
    let mut file = magic.to_be_bytes().to_vec();
    for size in sizes {
        file.extend(size.to_be_bytes());
    }
    file.extend(body);
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn images(file: &[u8]) -> Result<Images, DataError> {
    read_images("images.idx", file, file.len() as u64)
}

/// The message of a bad file: it must name the file.
#[track_caller]
fn refused(file: &[u8]) -> (DataError, String) {
    let error = images(file).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("images.idx"), "{text}");
    (error, text)
}

/// 6 images of 2x3 pixels, hard enough to compress that every cut is in the middle of something.
fn sound() -> Vec<u8> {
    let body: Vec<u8> = (0..36u8).map(|i| i.wrapping_mul(151) ^ 0x5a).collect();
    idx(IMAGES_MAGIC, &[6, 2, 3], &body)
}

#[test]
fn plain_and_gzip_files_give_the_same_images_whatever_their_names() {
    let plain = images(&sound()).unwrap();
    assert_eq!((plain.count, plain.rows, plain.columns), (6, 2, 3));
    assert_eq!(plain.pixels, sound()[16..]);
    assert_eq!(images(&gzip(&sound())).unwrap(), plain);
}

#[test]
fn labels_are_read() {
    let file = idx(LABELS_MAGIC, &[4], &[3, 1, 4, 1]);
    for file in [gzip(&file), file] {
        let labels = read_labels("labels.idx", &file[..], file.len() as u64).unwrap();
        assert_eq!(labels, [3, 1, 4, 1]);
    }
}

#[test]
fn what_is_held_is_what_is_needed() {
    // Zeros compress far beyond the ratio for which memory is taken at once.
    let file = gzip(&idx(IMAGES_MAGIC, &[100, 100, 100], &vec![0; 1_000_000]));
    assert!(file.len() as u64 * GZIP_USUAL_RATIO < 1_000_000);
    let read = images(&file).unwrap();
    assert_eq!(read.pixels.len(), 1_000_000);
    assert!(read.pixels.capacity() < 1_001_000);
}

#[test]
fn a_gzip_file_cut_off_anywhere_is_refused_as_cut_off() {
    let whole = gzip(&sound());
    for end in 2..whole.len() {
        let (error, text) = refused(&whole[..end]);
        let expected = matches!(error, DataError::TruncatedGzip { .. });
        assert!(expected, "cut at {end} of {}: {text}", whole.len());
        assert!(text.contains("cut off, fetch it again"), "{text}");
    }
}

#[test]
fn a_damaged_gzip_file_never_gives_images() {
    let whole = gzip(&sound());
    // Bytes 3 to 9 are flags, time and system, which carry no data.
    for place in (10..whole.len()).chain([2]) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x11;
        refused(&damaged);
    }
    let mut checksum = whole.clone();
    let place = whole.len() - 8;
    checksum[place] ^= 1;
    let (error, text) = refused(&checksum);
    assert!(matches!(error, DataError::DamagedGzip { .. }), "{text}");
}

#[test]
fn garbage_behind_a_gzip_file_is_refused() {
    let mut file = gzip(&sound());
    file.extend(b"more");
    refused(&file);
}

#[test]
fn a_plain_file_cut_off_anywhere_is_refused_with_both_sizes() {
    let whole = sound();
    for end in 0..whole.len() {
        let (error, text) = refused(&whole[..end]);
        match error {
            DataError::TruncatedHeader { found_bytes, .. } => {
                assert_eq!(found_bytes, end);
                assert!(end < 16);
            }
            DataError::TruncatedBody { found_bytes, .. } => {
                assert_eq!(found_bytes as usize, end - 16);
                assert!(text.contains("6x2x3 = 36 bytes"), "{text}");
            }
            _ => panic!("cut at {end}: {text}"),
        }
    }
}

#[test]
fn trailing_bytes_are_refused() {
    let mut file = sound();
    file.push(0);
    for file in [gzip(&file), file] {
        let (error, text) = refused(&file);
        assert!(matches!(error, DataError::TrailingBytes { .. }), "{text}");
    }
}

#[test]
fn a_wrong_magic_number_is_told_with_the_right_one() {
    for (magic, hint) in [
        (LABELS_MAGIC, "a file of labels"),
        (0x0000_0802, "another number of dimensions"),
        (0x0000_0d03, "not an IDX file of bytes"),
        (u32::from_be_bytes(*b"<htm"), "not an IDX file of bytes"),
    ] {
        let (error, text) = refused(&idx(magic, &[1, 1, 1], &[0]));
        assert!(matches!(error, DataError::WrongMagic { .. }), "{text}");
        assert!(text.contains(&format!("{magic:#010x}")), "{text}");
        assert!(text.contains("expected 0x00000803"), "{text}");
        assert!(text.contains(hint), "{text}");
    }
    // A short page of HTML is no cut-off file.
    let (error, text) = refused(b"<html>");
    assert!(matches!(error, DataError::WrongMagic { .. }), "{text}");
}

#[test]
fn zero_images_are_refused() {
    for sizes in [[0, 28, 28], [5, 0, 28], [5, 28, 0]] {
        let (error, text) = refused(&idx(IMAGES_MAGIC, &sizes, &[]));
        assert!(matches!(error, DataError::Empty { .. }), "{text}");
    }
}

#[test]
fn absurd_sizes_cost_no_memory() {
    let largest = u32::MAX;
    let (error, text) = refused(&idx(IMAGES_MAGIC, &[largest; 3], &[1, 2, 3]));
    assert!(matches!(error, DataError::AbsurdSizes { .. }), "{text}");
    // These fit into 64 bits and into no machine: what counts are the three bytes that are there.
    for file in [
        idx(IMAGES_MAGIC, &[largest, 28, 28], &[1, 2, 3]),
        idx(IMAGES_MAGIC, &[largest, largest, 1], &[1, 2, 3]),
        gzip(&idx(IMAGES_MAGIC, &[largest, 28, 28], &[1, 2, 3])),
    ] {
        let (error, text) = refused(&file);
        match error {
            DataError::TruncatedBody { found_bytes, .. } => assert_eq!(found_bytes, 3),
            _ => panic!("{text}"),
        }
    }
}
