//! The `[data]` section: which samples a run learns from, and how they are cut into batches.

use super::field::{Field, quote, type_of};
use super::section::{Choices, Problems, Section};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::ops::RangeInclusive;
use toml::Value;

/// The `[data]` section: which samples, and how many per update.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Name of a data set, one of [`Data::sources`].
    pub source: String,
    /// Where the files are; which file or folder that is depends on the source. A relative path starts at the working
    /// directory, and one that starts with `picked:` names a file that was handed to the program, as by a browser.
    pub path: Option<String>,
    /// Samples per optimizer update.
    pub batch: usize,
    /// Whether each epoch visits the samples in an order of its own. True unless said otherwise.
    pub shuffle: bool,
    /// What becomes of the samples that are left over at the end of an epoch.
    pub last_batch: LastBatch,
    /// Share of the samples held out for testing where a source has no test part of its own, above 0 and below 1.
    pub validation: f32,
    /// How text becomes tokens.
    pub tokenizer: Tokenizer,
    /// Height and width that the images of a folder are resized to, in pixels.
    pub size: usize,
    /// The CSV column that holds the class.
    pub label: String,
}

/// How text becomes tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Tokenizer {
    /// Each byte of the UTF-8 text is a token: 256 of them.
    #[default]
    Bytes,
    /// Byte pair encoding learned from the training text (Sennrich, Haddow and Birch 2016, arXiv:1508.07909).
    Bpe {
        /// Number of tokens, 257 to 65536: the 256 bytes and what is merged from them.
        vocabulary: usize,
    },
}

/// What becomes of the samples that are left over at the end of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LastBatch {
    /// They are a batch of their own, a short one.
    #[default]
    Keep,
    /// They are left out of the epoch.
    Drop,
    /// As [`LastBatch::Keep`], but where a single sample is left over the batch before gives it one for company: batch
    /// normalisation has no variance over one sample.
    Balance,
}

/// A source and the fields it uses.
struct Source {
    name: &'static str,
    path: PathUse,
    /// Fields beside `source`, `path` and those every source uses.
    fields: &'static [&'static str],
}

/// Whether a source has a path, and what it is.
enum PathUse {
    Never,
    Optional(&'static str),
    Required(&'static str),
}

const SOURCES: &[Source] = &[
    Source {
        name: "fashion-mnist",
        path: PathUse::Optional("a folder; leave the field out to use the shipped subset"),
        fields: &[],
    },
    Source {
        name: "austen",
        path: PathUse::Never,
        fields: &["validation", "tokenizer"],
    },
    Source {
        name: "text",
        path: PathUse::Required("a text file"),
        fields: &["validation", "tokenizer"],
    },
    Source {
        name: "images",
        path: PathUse::Required("a folder with one sub-folder of images per class"),
        fields: &["validation", "size"],
    },
    Source {
        name: "csv",
        path: PathUse::Required("a CSV file with a column of labels"),
        fields: &["validation", "label"],
    },
    Source {
        name: "cifar-10",
        path: PathUse::Required(
            "the folder with data_batch_1.bin and the others, or one such file",
        ),
        fields: &["validation"],
    },
    Source {
        name: "npy",
        path: PathUse::Required(
            "an .npz file with arrays x and y, or a folder with x.npy and y.npy",
        ),
        fields: &["validation"],
    },
];

const LAST_BATCHES: Choices<LastBatch> = Choices {
    allowed: &[
        ("keep", LastBatch::Keep),
        ("drop", LastBatch::Drop),
        ("balance", LastBatch::Balance),
    ],
    later: &[],
};

const DEFAULT_VALIDATION: f32 = 0.1;
const DEFAULT_SIZE: usize = 32;
const DEFAULT_LABEL: &str = "label";

/// The 256 bytes and at least one merge; identifiers of tokens are kept in 16 bits.
const BPE_VOCABULARIES: RangeInclusive<usize> = 257..=65_536;

/// Larger images than this are no subject for small networks, and their squares still fit every count.
const SIZES: RangeInclusive<usize> = 1..=4_096;

impl Data {
    /// The data set `source`, `batch` samples at a time, with every other field as it is where it is left out.
    pub fn new(source: &str, batch: usize) -> Self {
        Self {
            source: source.to_owned(),
            path: None,
            batch,
            shuffle: true,
            last_batch: LastBatch::default(),
            validation: DEFAULT_VALIDATION,
            tokenizer: Tokenizer::default(),
            size: DEFAULT_SIZE,
            label: DEFAULT_LABEL.to_owned(),
        }
    }

    /// Every name that `source` may have.
    pub fn sources() -> impl Iterator<Item = &'static str> {
        SOURCES.iter().map(|source| source.name)
    }

    /// Whether the source of this data uses the field `name` of the section.
    pub fn uses(&self, name: &str) -> bool {
        Source::find(&self.source).is_none_or(|source| source.uses(name))
    }

    pub(super) fn read(mut section: Section<'_>) -> Self {
        let what = "the name of a data set such as \"fashion-mnist\"";
        let source: String = section.required("source", what, String::from("unnamed"));
        let defaults = Self::new(&source, 1);
        let data = Self {
            path: optional(&mut section, &defaults, "path", String::from("unnamed")),
            // The stand-in passes every check, also those that compare another field with it.
            batch: section.required("batch", "the samples per update, 1 or more", usize::MAX),
            shuffle: section.or_default("shuffle", true),
            last_batch: section.choice_or("last_batch", &LAST_BATCHES, LastBatch::Keep),
            validation: used_or(&mut section, &defaults, "validation", defaults.validation),
            tokenizer: used_or(&mut section, &defaults, "tokenizer", defaults.tokenizer),
            size: used_or(&mut section, &defaults, "size", defaults.size),
            label: used_or(&mut section, &defaults, "label", defaults.label.clone()),
            source,
        };
        section.finish();
        data
    }

    pub(super) fn check(&self, problems: &Problems) {
        self.check_source(problems);
        // Kernels count samples in 32 bits.
        if self.batch < 1 || u32::try_from(self.batch).is_err() {
            let allowed = "must be 1 to 4294967295 samples per update";
            problems.value("data.batch", self.batch, allowed);
        }
        if self.uses("validation") && !(self.validation > 0.0 && self.validation < 1.0) {
            let allowed = "must be above 0 and below 1 (the share of the samples held out)";
            problems.value("data.validation", self.validation, allowed);
        }
        if self.uses("size") && !SIZES.contains(&self.size) {
            let allowed = "must be 1 to 4096 pixels, the height and width images are resized to";
            problems.value("data.size", self.size, allowed);
        }
        if self.uses("label") && self.label.trim().is_empty() {
            let found = format!("{:?}", self.label);
            problems.value("data.label", found, "must name the column of the labels");
        }
        if let Tokenizer::Bpe { vocabulary } = self.tokenizer
            && self.uses("tokenizer")
            && !BPE_VOCABULARIES.contains(&vocabulary)
        {
            let allowed =
                "must be 257 to 65536 tokens; for the 256 bytes alone write kind = \"bytes\"";
            problems.value("data.tokenizer.vocabulary", vocabulary, allowed);
        }
    }

    fn check_source(&self, problems: &Problems) {
        if self.source.trim().is_empty() {
            let found = format!("{:?}", self.source);
            problems.value("data.source", found, "must name a data set");
            return;
        }
        let Some(source) = Source::find(&self.source) else {
            let names: Vec<_> = Self::sources().collect();
            let near = super::field::suggestion(&self.source, names.iter().copied());
            let allowed = format!("unknown data set; allowed: {}{near}", names.join(", "));
            problems.value("data.source", format!("{:?}", self.source), &allowed);
            return;
        };
        let what = match source.path {
            PathUse::Never => return,
            PathUse::Optional(what) => what,
            PathUse::Required(what) if self.path.is_none() => {
                let note = format!("give {what}, for source = \"{}\"", source.name);
                problems.missing("data.path", &note);
                return;
            }
            PathUse::Required(what) => what,
        };
        if self
            .path
            .as_ref()
            .is_some_and(|path| path.trim().is_empty())
        {
            problems.value("data.path", "\"\"", &format!("must name {what}"));
        }
    }
}

/// The field `key`, or `default`; a source that does not use it refuses it.
fn used_or<T: Field + Clone>(
    section: &mut Section<'_>,
    data: &Data,
    key: &'static str,
    default: T,
) -> T {
    optional(section, data, key, default.clone()).unwrap_or(default)
}

/// The field `key`, if it is there; a source that does not use it refuses it.
fn optional<T: Field>(
    section: &mut Section<'_>,
    data: &Data,
    key: &'static str,
    stand_in: T,
) -> Option<T> {
    if data.uses(key) {
        return section.optional(key, stand_in);
    }
    let users: Vec<_> = SOURCES
        .iter()
        .filter(|source| source.uses(key))
        .map(|source| source.name)
        .collect();
    let reason = format!(
        "is not used by source = \"{}\", only by {}; remove it",
        data.source,
        users.join(", ")
    );
    section.refuse(key, &reason);
    None
}

impl Source {
    fn find(name: &str) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.name == name)
    }

    /// Whether it uses `field`. The fields of every source are in no list.
    fn uses(&self, field: &str) -> bool {
        match field {
            "path" => !matches!(self.path, PathUse::Never),
            "source" | "batch" | "shuffle" | "last_batch" => true,
            _ => self.fields.contains(&field),
        }
    }
}

impl Tokenizer {
    /// Number of different tokens.
    pub fn vocabulary(self) -> usize {
        match self {
            Self::Bytes => 256,
            Self::Bpe { vocabulary } => vocabulary,
        }
    }
}

impl Field for Tokenizer {
    /// Reads `{ kind = "bpe", vocabulary = 1024 }`, or the kind alone where it needs nothing more.
    fn read(value: &Value) -> Result<Self, String> {
        const FORMS: &str = "\"bytes\", { kind = \"bytes\" } or { kind = \"bpe\", vocabulary = N }";
        let empty = toml::Table::new();
        let (kind, table) = match value {
            Value::String(kind) => (kind.as_str(), &empty),
            Value::Table(table) => match table.get("kind") {
                Some(Value::String(kind)) => (kind.as_str(), table),
                Some(other) => return Err(format!("kind = {}: write {FORMS}", quote(other))),
                None => return Err(format!("kind is missing; write {FORMS}")),
            },
            other => return Err(format!("expected {FORMS}, found {}", type_of(other))),
        };
        let known: &[&str] = match kind {
            "bytes" => &["kind"],
            "bpe" => &["kind", "vocabulary"],
            _ => return Err(format!("kind \"{kind}\" is unknown; write {FORMS}")),
        };
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            let known = known.join(", ");
            return Err(format!(
                "{key} is not used by kind = \"{kind}\"; allowed: {known}"
            ));
        }
        if kind == "bytes" {
            return Ok(Self::Bytes);
        }
        match table.get("vocabulary") {
            Some(number) => usize::read(number)
                .map(|vocabulary| Self::Bpe { vocabulary })
                .map_err(|message| format!("vocabulary: {message}")),
            None => Err(String::from(
                "vocabulary is missing; write { kind = \"bpe\", vocabulary = N } with N from 257 to 65536",
            )),
        }
    }
}

impl Serialize for Data {
    /// Writes the fields that the source uses, so that the result reads back.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = ["path", "validation", "size", "label", "tokenizer"];
        let written = |name: &str| self.uses(name) && (name != "path" || self.path.is_some());
        let count = 4 + names.iter().filter(|name| written(name)).count();
        let mut fields = serializer.serialize_struct("Data", count)?;
        fields.serialize_field("source", &self.source)?;
        if let Some(path) = self.path.as_ref().filter(|_| written("path")) {
            fields.serialize_field("path", path)?;
        }
        fields.serialize_field("batch", &self.batch)?;
        fields.serialize_field("shuffle", &self.shuffle)?;
        fields.serialize_field("last_batch", &self.last_batch)?;
        if written("validation") {
            fields.serialize_field("validation", &self.validation)?;
        }
        if written("size") {
            fields.serialize_field("size", &self.size)?;
        }
        if written("label") {
            fields.serialize_field("label", &self.label)?;
        }
        // Last, because TOML writes tables after the values beside them.
        if written("tokenizer") {
            fields.serialize_field("tokenizer", &self.tokenizer)?;
        }
        fields.end()
    }
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
