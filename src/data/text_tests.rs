//! Tests of encodings, and of cutting a text.

use super::*;
use crate::data::tests::{Folder, data, load, noticed, refused};
use crate::data::{Batch, picked};
use crate::experiment::Tokenizer;

fn utf16(text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    [mark.to_vec(), text.encode_utf16().flat_map(bytes).collect()].concat()
}

fn shown(bytes: &[u8]) -> String {
    decode("a.txt", bytes).unwrap().into_owned()
}

/// DL-19: a mark is no part of the text, and UTF-16 is known by its mark.
#[test]
fn encodings_are_known_by_their_marks() {
    let text = "héllo 🦀\n";
    assert_eq!(shown(text.as_bytes()), text);
    assert_eq!(shown(&[UTF8_MARK, text.as_bytes()].concat()), text);
    assert_eq!(shown(&utf16(text, &[0xff, 0xfe], u16::to_le_bytes)), text);
    assert_eq!(shown(&utf16(text, &[0xfe, 0xff], u16::to_be_bytes)), text);
    assert!(
        matches!(decode("a.txt", text.as_bytes()), Ok(Cow::Borrowed(_))),
        "UTF-8 is not copied"
    );
}

#[test]
fn other_encodings_are_refused_by_name() {
    let unmarked = utf16("hello", &[], u16::to_le_bytes);
    for (bytes, parts) in [
        (
            &[0xff, 0xfe, 0, 0, 65, 0, 0, 0][..],
            &["UTF-32", "save it as UTF-8"][..],
        ),
        (&[0, 0, 0xfe, 0xff, 0, 0, 0, 65], &["UTF-32"]),
        (&unmarked, &["byte 1 is zero", "UTF-16 without a mark"]),
        (
            b"caf\xe9 au lait",
            &["byte 3 is 0xe9", "no UTF-8", "save it as UTF-8"],
        ),
        (b"\xef\xbb\xbfab\xff", &["byte 5 is 0xff"]),
        (
            &[0x1f, 0x8b, 8, 9, 9],
            &["compressed with gzip, unpack it first"],
        ),
        (&[0xff, 0xfe, 65], &["UTF-16LE", "damaged or cut off"]),
        (&[0xfe, 0xff, 0xd8, 0, 0, 65], &["UTF-16BE", "damaged"]),
    ] {
        refused(decode("a.txt", bytes), &[&["a.txt: "][..], parts].concat());
    }
}

#[test]
fn a_file_is_cut_into_its_beginning_and_its_end() {
    let folder = Folder::new();
    let text = "0123456789".repeat(10);
    let path = folder.write("digits.txt", &text);
    let mut data = data("text", &path);
    data.validation = 0.25;
    let split = load(&data, Some(8)).unwrap();
    assert_eq!(split.info, source_info_of(&data));
    let tokens = |part: &Dataset| match &part.values {
        Values::Tokens(tokens) => tokens.iter().map(|&t| t as u8).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(tokens(&split.train), text.as_bytes()[..75]);
    assert_eq!(tokens(&split.test), text.as_bytes()[75..]);
    let mut batch = Batch::default();
    split.train.fill(&[0], 1, &mut batch);
    assert_eq!(batch.features, [48, 49, 50, 51, 52, 53, 54, 55]);
    assert_eq!(batch.labels, [49, 50, 51, 52, 53, 54, 55, 56]);
    // 74 tokens have a next one: nine windows of eight, and one of two.
    assert_eq!((split.train.len(), split.train.targets(&[9])), (10, 2));
}

fn source_info_of(data: &experiment::Data) -> SourceInfo {
    crate::data::source_info(data).unwrap()
}

#[test]
fn line_ends_are_line_feeds_and_letters_stay_whole() {
    picked::offer("text_tests.txt", "a\r\nb\r\nżżżżżżżżż".into());
    let mut data = data("text", "picked:text_tests.txt");
    for share in 1..100 {
        data.validation = share as f32 / 100.0;
        let split = match load(&data, Some(4)) {
            Ok(split) => split,
            Err(error) => {
                assert!(
                    error.to_string().contains("part has fewer than 2 tokens"),
                    "{error}"
                );
                continue;
            }
        };
        let codec = split.codec.unwrap();
        let text: String = [split.train, split.test]
            .iter()
            .map(|part| match &part.values {
                Values::Tokens(tokens) => {
                    codec.decode(&tokens.iter().map(|&t| u32::from(t)).collect::<Vec<_>>())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, "a\nb\nżżżżżżżżż");
    }
    picked::withdraw("text_tests.txt");
}

/// DL-21: without text there is no training.
#[test]
fn too_little_text_is_an_error() {
    let folder = Folder::new();
    for (text, parts) in [
        ("", &["there are no samples in it"][..]),
        ("\u{feff}", &["there are no samples in it"]),
        (
            "a",
            &[
                "training part has fewer than 2 tokens (1 of 1 bytes",
                "data.validation = 0.1",
            ],
        ),
        (
            "abc",
            &[
                "test part has fewer than 2 tokens (1 of 3 bytes",
                "give a longer text",
            ],
        ),
    ] {
        let path = folder.write("short.txt", text);
        refused(
            load(&data("text", &path), Some(4)),
            &[&["short.txt"][..], parts].concat(),
        );
    }
}

#[test]
fn pairs_are_learned_from_the_training_part_only() {
    let folder = Folder::new();
    let text = format!("{}{}", "ab ".repeat(60), "xyz ".repeat(5));
    let mut data = data("text", &folder.write("pairs.txt", text));
    data.tokenizer = Tokenizer::Bpe { vocabulary: 1_000 };
    let split = load(&data, Some(4)).unwrap();
    let codec = split.codec.as_ref().unwrap();
    assert_eq!(codec.encode(" ab").len(), 1);
    assert_eq!(codec.encode("xyz").len(), 3, "the test part is unseen");
    assert_eq!((codec.vocabulary(), split.info.classes()), (1_000, 1_000));
    noticed(
        &split,
        &[
            "pairs.txt",
            "data.tokenizer.vocabulary = 1000",
            "never used",
        ],
    );
}
