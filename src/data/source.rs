//! The known data sets, and what reads each of them.

use super::dataset::Split;
use super::error::DataError;
use super::info::SourceInfo;
use super::{cifar, csv, fashion, npz, text};
use crate::experiment;
use flate2::bufread::MultiGzDecoder;
use std::io::Read;

/// The text that comes with the program.
const AUSTEN: &str = "austen";

/// No more is unpacked of the shipped text than it can have, in bytes.
const LONGEST_AUSTEN_BYTES: u64 = 1 << 22;

/// What is known of the data set without loading it: nothing is read of the sets that come with the program, and of files
/// no more than says what the samples and classes are. A table is read as a whole for its classes.
///
/// # Errors
/// [`DataError::UnknownSource`] with the known names, [`DataError::NoPath`], and what is wrong with the files.
pub fn source_info(data: &experiment::Data) -> Result<SourceInfo, DataError> {
    match data.source.as_str() {
        fashion::NAME => Ok(fashion::info()),
        AUSTEN | "text" => Ok(text::info(data)),
        "cifar-10" => Ok(cifar::info(data)),
        "csv" => csv::info(data, path_of(data)?),
        "npy" => npz::info(data, path_of(data)?),
        "images" => images::info(data, path_of(data)?),
        _ => Err(unknown(data)),
    }
}

/// Loads the training and the test part of the data of an experiment. `context` is the number of tokens of a sample, for
/// models that learn from text.
///
/// # Errors
/// Each [`DataError`], with the file and what to do; [`DataError::TextNeedsContext`] for text without a `context`.
pub async fn load(data: &experiment::Data, context: Option<usize>) -> Result<Split, DataError> {
    let (info, parts) = match data.source.as_str() {
        fashion::NAME => return load_fashion(data).await,
        AUSTEN => {
            let context = context_of(data, context)?;
            let shipped = unpack_austen().await?;
            return text::split(data, AUSTEN, &shipped, context);
        }
        "text" => {
            let context = context_of(data, context)?;
            let path = path_of(data)?;
            // Two bytes for each token.
            let content = super::file::content(path, 2)?;
            return text::split(data, path, content.as_ref(), context);
        }
        "cifar-10" => cifar::load(data, path_of(data)?)?,
        "csv" => csv::load(data, path_of(data)?)?,
        "npy" => npz::load(data, path_of(data)?)?,
        "images" => images::load(data, path_of(data)?)?,
        _ => return Err(unknown(data)),
    };
    parts.split(info, data.validation)
}

async fn load_fashion(data: &experiment::Data) -> Result<Split, DataError> {
    #[cfg(target_arch = "wasm32")]
    let split = super::browser::fashion(data.path.as_deref()).await;
    #[cfg(not(target_arch = "wasm32"))]
    let split = super::desktop::fashion(data.path.as_deref());
    split
}

async fn unpack_austen() -> Result<Vec<u8>, DataError> {
    #[cfg(target_arch = "wasm32")]
    {
        let file = super::browser::AUSTEN;
        unpack(file, &super::browser::fetch(file).await?)
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        let shipped = super::desktop::austen();
        unpack(&shipped.file, shipped.reader)
    }
}

/// Unpacks gzip, unless a server did so already.
fn unpack(file: &str, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.to_vec());
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(LONGEST_AUSTEN_BYTES)
        .read_to_end(&mut text)
        .map_err(|error| DataError::DamagedGzip {
            file: file.to_owned(),
            reason: error.to_string(),
        })?;
    Ok(text)
}

#[cfg(not(target_arch = "wasm32"))]
mod images {
    pub(super) use crate::data::folder::{info, load};
}

/// A page has no folders.
#[cfg(target_arch = "wasm32")]
mod images {
    use super::{DataError, SourceInfo, experiment};
    use crate::data::parts::Parts;

    pub(super) fn info(_: &experiment::Data, path: &str) -> Result<SourceInfo, DataError> {
        Err(refusal(path))
    }

    pub(super) fn load(_: &experiment::Data, path: &str) -> Result<(SourceInfo, Parts), DataError> {
        Err(refusal(path))
    }

    fn refusal(path: &str) -> DataError {
        DataError::NeedsFolder {
            path: path.to_owned(),
            limit: "a page in the browser has none",
        }
    }
}

fn path_of(data: &experiment::Data) -> Result<&str, DataError> {
    data.path.as_deref().ok_or_else(|| DataError::NoPath {
        source_name: data.source.clone(),
    })
}

fn context_of(data: &experiment::Data, context: Option<usize>) -> Result<usize, DataError> {
    context.ok_or_else(|| DataError::TextNeedsContext {
        source_name: data.source.clone(),
    })
}

fn unknown(data: &experiment::Data) -> DataError {
    let names: Vec<_> = experiment::Data::sources().collect();
    DataError::UnknownSource {
        found: data.source.clone(),
        allowed: names.join(", "),
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
