//! Tests of the `[data]` section: defaults, the fields of each source, and their messages.

use super::*;
use crate::experiment::tests::{base_with, refused, refused_once};
use crate::experiment::{Experiment, ExperimentError};

const TEXT: &[&str] = &["data.source=text", "data.path=book.txt"];

fn data_of(sets: &[&str]) -> Data {
    base_with(sets).data
}

fn with<'a>(sets: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [sets, more].concat()
}

#[test]
fn what_is_left_out_has_the_documented_default() {
    let data = data_of(&["data.source=austen"]);
    assert_eq!(data, Data::new("austen", 128));
    assert_eq!((data.validation, data.size), (0.1, 32));
    assert_eq!((data.label.as_str(), data.shuffle), ("label", true));
    assert_eq!(data.tokenizer, Tokenizer::Bytes);
    assert_eq!(data.last_batch, LastBatch::Keep);
}

#[test]
fn a_tokenizer_is_a_word_or_a_table() {
    for (set, expected) in [
        ("data.tokenizer=bytes", Tokenizer::Bytes),
        ("data.tokenizer={kind=\"bytes\"}", Tokenizer::Bytes),
        (
            "data.tokenizer={kind=\"bpe\", vocabulary=512}",
            Tokenizer::Bpe { vocabulary: 512 },
        ),
    ] {
        let data = data_of(&with(TEXT, &[set]));
        assert_eq!(data.tokenizer, expected, "{set}");
    }
    assert_eq!(Tokenizer::Bytes.vocabulary(), 256);
    for (set, part) in [
        (
            "data.tokenizer=words",
            "kind \"words\" is unknown; write \"bytes\"",
        ),
        ("data.tokenizer=3", "found a whole number"),
        ("data.tokenizer={vocabulary=512}", "kind is missing"),
        ("data.tokenizer={kind=3}", "kind = 3: write"),
        (
            "data.tokenizer=bpe",
            "vocabulary is missing; write { kind = \"bpe\", vocabulary = N }",
        ),
        (
            "data.tokenizer={kind=\"bytes\", vocabulary=512}",
            "vocabulary is not used by kind = \"bytes\"; allowed: kind",
        ),
        (
            "data.tokenizer={kind=\"bpe\", vocabulary=512, merges=3}",
            "merges is not used by kind = \"bpe\"; allowed: kind, vocabulary",
        ),
        (
            "data.tokenizer={kind=\"bpe\", vocabulary=-1}",
            "vocabulary: expected a whole number, 0 or above, found -1",
        ),
    ] {
        refused_once(&with(TEXT, &[set]), &["data.tokenizer = ", part]);
    }
    for vocabulary in [256, 65_537] {
        let set = format!("data.tokenizer={{kind=\"bpe\", vocabulary={vocabulary}}}");
        let found = format!("data.tokenizer.vocabulary = {vocabulary}: must be 257 to 65536");
        refused_once(&with(TEXT, &[&set]), &[&found, "kind = \"bytes\""]);
    }
}

#[test]
fn each_source_refuses_the_fields_it_does_not_use() {
    let values = [
        (
            "validation",
            "0.2",
            "austen, text, images, csv, cifar-10, npy",
        ),
        ("size", "64", "images"),
        ("label", "\"kind\"", "csv"),
        ("tokenizer", "\"bytes\"", "austen, text"),
        (
            "path",
            "\"here\"",
            "fashion-mnist, text, images, csv, cifar-10, npy",
        ),
    ];
    for source in SOURCES {
        for (field, value, users) in values {
            let set = format!("data.{field}={value}");
            let name = format!("data.source={}", source.name);
            let sets = ["data.path=somewhere", &name, &set];
            let sets = match source.path {
                PathUse::Never => &sets[1..],
                _ => &sets[..],
            };
            if source.uses(field) {
                base_with(sets);
            } else {
                let found = format!("data.{field} = {value}");
                let reason = format!("is not used by source = \"{}\"", source.name);
                let only = format!("only by {users}; remove it");
                refused_once(sets, &[&found, &reason, &only]);
            }
        }
    }
}

#[test]
fn the_path_is_asked_for_by_what_belongs_there() {
    for (source, what) in [
        ("text", "a text file"),
        ("images", "one sub-folder of images per class"),
        ("csv", "a column of labels"),
        ("cifar-10", "data_batch_1.bin"),
        ("npy", "arrays x and y"),
    ] {
        let set = format!("data.source={source}");
        let name = format!("for source = \"{source}\"");
        refused_once(&[&set], &["data.path: is missing; give ", what, &name]);
        refused_once(
            &[&set, "data.path="],
            &["data.path = \"\": must name", what],
        );
    }
    refused_once(&["data.path="], &["data.path = \"\": must name a folder"]);
}

#[test]
fn unknown_sources_name_the_known_ones() {
    refused_once(
        &["data.source=autsen"],
        &[
            "data.source = \"autsen\": unknown data set",
            "allowed: fashion-mnist, austen, text, images, csv, cifar-10, npy",
            "did you mean \"austen\"?",
        ],
    );
    // Of a source that nobody knows it is not known either which fields it has.
    let text = refused(&["data.source=x", "data.label=y"], &["data.source = \"x\""]);
    assert!(!text.contains("data.label"), "{text}");
}

#[test]
fn values_out_of_range_are_one_problem_each() {
    for value in ["0", "1", "-0.5", "nan"] {
        let set = format!("data.validation={value}");
        let sets = with(TEXT, &[&set]);
        refused_once(
            &sets,
            &["data.validation = ", "must be above 0 and below 1"],
        );
    }
    let images = ["data.source=images", "data.path=here"];
    for value in [0, 4_097] {
        let set = format!("data.size={value}");
        let found = format!("data.size = {value}: must be 1 to 4096 pixels");
        refused_once(&with(&images, &[&set]), &[&found]);
    }
    let csv = ["data.source=csv", "data.path=here", "data.label="];
    refused_once(&csv, &["data.label = \"\": must name the column"]);
    refused_once(
        &["data.last_batch=merge"],
        &[
            "data.last_batch = \"merge\"",
            "allowed: keep, drop, balance",
        ],
    );
}

#[test]
fn what_is_written_reads_back_and_holds_no_field_of_another_source() {
    for (sets, absent) in [
        (
            &["data.last_batch=balance"][..],
            &["validation", "size", "tokenizer", "path"][..],
        ),
        (&["data.source=austen"], &["size", "label", "path"]),
        (
            &[
                "data.source=text",
                "data.path=picked:a b.txt",
                "data.tokenizer={kind=\"bpe\", vocabulary=300}",
                "data.validation=0.2",
            ],
            &["size", "label"],
        ),
        (
            &["data.source=images", "data.path=here", "data.size=48"],
            &["tokenizer", "label"],
        ),
        (
            &["data.source=csv", "data.path=here", "data.label=kind"],
            &["tokenizer", "size"],
        ),
    ] {
        let experiment = base_with(sets);
        let toml = experiment.to_toml().unwrap();
        let read: Result<_, ExperimentError> =
            Experiment::from_toml(&toml, "written.toml", &|_| Err(String::from("none")));
        assert_eq!(read.unwrap(), experiment, "{toml}");
        let json = serde_json::to_string(&experiment).unwrap();
        let back: Experiment = serde_json::from_str(&json).unwrap();
        assert_eq!(back, experiment, "{json}");
        let section = serde_json::to_value(&experiment.data).unwrap();
        for field in absent {
            assert!(section.get(field).is_none(), "{field} in {section}");
        }
    }
}
