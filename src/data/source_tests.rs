//! Tests of choosing a source, of its limits, and of the shipped text.

use super::*;
use crate::data::picked;
#[cfg(not(target_arch = "wasm32"))]
use crate::data::tests::{Folder, data, load, refused};
use crate::data::{WASM_HOST_LIMIT_BYTES, check_host_capacity};
use crate::experiment::{Data, Tokenizer};

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
fn every_source_an_experiment_may_name_is_known_here() {
    for source in Data::sources() {
        let found = source_info(&data(source, "/nowhere"));
        assert!(
            !matches!(found, Err(DataError::UnknownSource { .. })),
            "{source}"
        );
        let loaded = load(&data(source, "/nowhere"), Some(4));
        assert!(
            !matches!(loaded, Err(DataError::UnknownSource { .. })),
            "{source}"
        );
    }
    for result in [
        source_info(&Data::new("mnist", 1)).map(|_| ()),
        load(&Data::new("mnist", 1), None).map(|_| ()),
    ] {
        refused(
            result,
            &[
                "data.source = \"mnist\"",
                "allowed: fashion-mnist, austen, text",
            ],
        );
    }
}

#[test]
fn the_shipped_sets_are_known_without_loading() {
    let fashion = source_info(&Data::new("fashion-mnist", 1)).unwrap();
    assert_eq!((fashion.features(), fashion.classes()), (784, 10));
    assert_eq!(
        (fashion.shape(), fashion.is_text()),
        (&[28, 28, 1][..], false)
    );
    assert_eq!(fashion.class_names()[9], "Ankle boot");
    let mut text = Data::new("austen", 1);
    assert_eq!(source_info(&text).unwrap().classes(), 256);
    text.tokenizer = Tokenizer::Bpe { vocabulary: 700 };
    let info = source_info(&text).unwrap();
    assert_eq!(
        (info.classes(), info.is_text(), info.name.as_str()),
        (700, true, "austen")
    );
    assert!(info.class_names().is_empty() && info.shape().is_empty());
}

#[test]
fn the_shipped_text_is_about_a_megabyte_of_two_novels() {
    let split = load(&Data::new("austen", 8), Some(128)).unwrap();
    assert!(split.notices.is_empty());
    let codec = split.codec.as_ref().unwrap();
    let text = |part: &crate::data::Dataset| match &part.values {
        crate::data::Values::Tokens(tokens) => codec.decode(
            &tokens
                .iter()
                .map(|&token| u32::from(token))
                .collect::<Vec<_>>(),
        ),
        other => panic!("text is tokens: {other:?}"),
    };
    let (train, test) = (text(&split.train), text(&split.test));
    let length = train.len() + test.len();
    assert!((1_000_000..1_300_000).contains(&length), "{length}");
    assert!((test.len() as f64 / length as f64 - 0.1).abs() < 1e-4);
    assert!(train.starts_with("PRIDE AND PREJUDICE\n\nBy Jane Austen\n"));
    assert!(train.contains("It is a truth universally acknowledged"));
    assert!(train.contains("\nNORTHANGER ABBEY\n") && test.contains("Catherine"));
    for other in ["Gutenberg", "Copyright", "Signet", "\r", "\u{fffd}"] {
        assert!(!train.contains(other) && !test.contains(other), "{other:?}");
    }
    let targets = split
        .train
        .targets(&(0..split.train.len() as u32).collect::<Vec<_>>());
    assert_eq!(targets, train.len() - 1);
    assert_eq!(split.bytes(), 2 * length as u64);
}

#[test]
fn the_shipped_text_can_be_learned_by_pairs() {
    let mut data = Data::new("austen", 8);
    data.tokenizer = Tokenizer::Bpe { vocabulary: 512 };
    let split = load(&data, Some(64)).unwrap();
    assert_eq!(split.info.classes(), 512);
    let codec = split.codec.unwrap();
    assert_eq!((codec.learned(), codec.encode(" the").len()), (512, 1));
    let tokens = split
        .train
        .targets(&(0..split.train.len() as u32).collect::<Vec<_>>());
    assert!((400_000..700_000).contains(&tokens), "{tokens}");
}

#[test]
fn text_without_a_context_names_the_model_it_is_for() {
    for source in ["austen", "text"] {
        refused(
            load(&data(source, "/nowhere"), None),
            &[
                &format!("data.source = \"{source}\" is text"),
                "model.kind = \"transformer\"",
            ],
        );
    }
}

#[test]
fn sources_of_files_ask_for_a_path() {
    for source in ["text", "images", "csv", "cifar-10", "npy"] {
        refused(
            load(&Data::new(source, 1), Some(1)),
            &[
                "data.path is missing",
                &format!("data.source = \"{source}\""),
            ],
        );
    }
}

#[test]
fn missing_files_and_folders_in_their_place_are_named() {
    let folder = Folder::new();
    for source in ["text", "csv", "npy", "cifar-10"] {
        refused(
            load(&data(source, "/nowhere/at all"), Some(1)),
            &["cannot read /nowhere/at all"],
        );
    }
    for source in ["text", "csv"] {
        refused(
            load(&data(source, &folder.shown()), Some(1)),
            &[&folder.shown(), "this is a folder; give the path of a file"],
        );
    }
    let set = |source: &str| load(&data(source, "picked:never picked"), Some(1));
    picked::offer("some other file", Vec::new());
    for source in ["text", "csv", "npy", "cifar-10"] {
        refused(
            set(source),
            &[
                "data.path = \"picked:never picked\"",
                "some other file",
                "pick the file or drop it",
            ],
        );
    }
    refused(
        set("images"),
        &["data.source = \"images\" reads a folder", ".npz"],
    );
    refused(
        set("fashion-mnist"),
        &["data.path = \"picked:never picked\" is not a folder"],
    );
}

/// A page has no files: its messages are written there and read here.
#[test]
fn a_page_says_what_to_do_with_a_path() {
    let path = || String::from("/home/me/x.csv");
    let text = DataError::FileInBrowser { path: path() }.to_string();
    assert!(
        text.contains("data.path = \"/home/me/x.csv\"") && text.contains("pick the file"),
        "{text}"
    );
    let text = DataError::PathInBrowser { path: path() }.to_string();
    assert!(text.contains("remove data.path"), "{text}");
}
