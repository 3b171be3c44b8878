//! Plain text: recognising its encoding, and cutting it into tokens to learn from and tokens to test with.

use super::codec::Codec;
use super::dataset::{Dataset, Split, Values};
use super::error::DataError;
use super::file::reserve;
use super::info::{Samples, SourceInfo};
use crate::experiment;
use std::borrow::Cow;
use std::sync::Arc;

/// UTF-8, UTF-16 and gzip are told apart by the first bytes of a file.
const UTF8_MARK: &[u8] = &[0xef, 0xbb, 0xbf];
const UTF16_LITTLE_MARK: &[u8] = &[0xff, 0xfe];
const UTF16_BIG_MARK: &[u8] = &[0xfe, 0xff];
const UTF32_MARKS: [&[u8]; 2] = [&[0xff, 0xfe, 0, 0], &[0, 0, 0xfe, 0xff]];
const GZIP_MARK: &[u8] = &[0x1f, 0x8b];

/// What is known of the text without reading it.
pub(super) fn info(data: &experiment::Data) -> SourceInfo {
    SourceInfo {
        name: data.source.clone(),
        samples: Samples::Text {
            vocabulary: data.tokenizer.vocabulary(),
        },
    }
}

/// The text in `bytes`, without byte-order mark: UTF-8, or UTF-16 with a mark.
pub(super) fn decode<'b>(file: &str, bytes: &'b [u8]) -> Result<Cow<'b, str>, DataError> {
    if UTF32_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        let reason =
            "the byte-order mark says that this is UTF-32, which is not read; save it as UTF-8";
        return Err(DataError::format(file, reason));
    }
    if let Some(units) = bytes.strip_prefix(UTF16_LITTLE_MARK) {
        return decode_utf16(file, "UTF-16LE", units, u16::from_le_bytes).map(Cow::Owned);
    }
    if let Some(units) = bytes.strip_prefix(UTF16_BIG_MARK) {
        return decode_utf16(file, "UTF-16BE", units, u16::from_be_bytes).map(Cow::Owned);
    }
    let mark = if bytes.starts_with(UTF8_MARK) {
        UTF8_MARK.len()
    } else {
        0
    };
    let text = bytes.get(mark..).unwrap_or_default();
    let hint = if bytes.starts_with(GZIP_MARK) {
        "it is compressed with gzip, unpack it first"
    } else {
        "save it as UTF-8"
    };
    // Letters of UTF-16 without a mark are half zeros, and no text in UTF-8 has any.
    if let Some(place) = text.iter().position(|&byte| byte == 0) {
        let byte = mark + place;
        let reason = format!(
            "byte {byte} is zero: this is no UTF-8 text, perhaps UTF-16 without a mark; {hint}"
        );
        return Err(DataError::format(file, reason));
    }
    std::str::from_utf8(text)
        .map(Cow::Borrowed)
        .map_err(|error| {
            let place = error.valid_up_to();
            let value = text.get(place).copied().unwrap_or_default();
            let byte = mark + place;
            let reason = format!("byte {byte} is {value:#04x}: this is no UTF-8 text; {hint}");
            DataError::format(file, reason)
        })
}

fn decode_utf16(
    file: &str,
    name: &str,
    bytes: &[u8],
    unit: fn([u8; 2]) -> u16,
) -> Result<String, DataError> {
    let (units, rest) = bytes.as_chunks::<2>();
    let cut = || {
        let reason = format!(
            "the byte-order mark says that this is {name}, but it is damaged or cut off; save it as UTF-8"
        );
        DataError::format(file, reason)
    };
    if !rest.is_empty() {
        return Err(cut());
    }
    let mut text = String::new();
    // A letter of two bytes has at most three in UTF-8.
    text.try_reserve(bytes.len())
        .map_err(|_| DataError::NoMemory {
            file: file.to_owned(),
            bytes: bytes.len() as u64,
        })?;
    for letter in char::decode_utf16(units.iter().map(|&pair| unit(pair))) {
        text.push(letter.map_err(|_| cut())?);
    }
    Ok(text)
}

/// Cuts the text in `bytes` into a training part, its beginning, and a test part, its end. Line ends become line feeds.
pub(super) fn split(
    data: &experiment::Data,
    file: &str,
    bytes: &[u8],
    context: usize,
) -> Result<Split, DataError> {
    let mut text = decode(file, bytes)?;
    if text.contains("\r\n") {
        text = Cow::Owned(text.replace("\r\n", "\n"));
    }
    if text.is_empty() {
        return Err(DataError::NoSamples {
            file: file.to_owned(),
            advice: String::from("give a file with text"),
        });
    }
    let (learned, held_out) = text.split_at(place_to_split(&text, data.validation));
    let codec = Codec::new(data.tokenizer, learned, file)?;
    let part = |name: &str, text: &str| {
        let mut tokens = Vec::new();
        if codec.name() == "bytes" {
            reserve(file, &mut tokens, text.len() as u64)?;
        }
        // A vocabulary has at most 65,536 tokens.
        codec.encode_each(text, |token| tokens.push(token as u16));
        tokens.shrink_to_fit();
        let dataset = Dataset {
            features: context.max(1),
            values: Values::Tokens(tokens),
            labels: Vec::new(),
        };
        if dataset.is_empty() {
            let reason = format!(
                "its {name} part has fewer than 2 tokens ({} of {} bytes, data.validation = {}); give a longer text",
                text.len(),
                learned.len() + held_out.len(),
                data.validation
            );
            return Err(DataError::format(file, reason));
        }
        let samples = dataset.len() as u64;
        if u32::try_from(samples).is_err() {
            return Err(DataError::TooManySamples {
                file: file.to_owned(),
                samples,
            });
        }
        Ok(dataset)
    };
    let (train, test) = (part("training", learned)?, part("test", held_out)?);
    let mut notices = Vec::new();
    if codec.learned() < codec.vocabulary() {
        notices.push(format!(
            "{file}: its training part has pairs for {} tokens only; the others of data.tokenizer.vocabulary = {} are never used",
            codec.learned(), codec.vocabulary()
        ));
    }
    Ok(Split {
        info: info(data),
        train,
        test,
        codec: Some(Arc::new(codec)),
        notices,
    })
}

/// Where the last `share` of `text` begins: between two letters, and at least one letter from either end if there are two.
fn place_to_split(text: &str, share: f32) -> usize {
    let place = (text.len() as f64 * (1.0 - f64::from(share))).round() as usize;
    let first = text.chars().next().map_or(0, char::len_utf8);
    let last = text.chars().next_back().map_or(0, char::len_utf8);
    text.floor_char_boundary(place)
        .min(text.len() - last)
        .max(first.min(text.len()))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
