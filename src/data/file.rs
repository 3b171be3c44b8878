//! Opening what `data.path` names: a file, or one that was picked.

use super::capacity::check_block;
use super::error::DataError;
use super::picked::{self, PREFIX, Picked};
use std::io::{Cursor, Read, Seek};

/// An open file.
pub(super) struct Opened<R> {
    /// Its path or address, for messages.
    pub(super) file: String,
    pub(super) reader: R,
    /// Bytes the reader gives.
    pub(super) bytes: u64,
}

/// What every format reads from: offsets are 64 bits wide on all platforms.
pub(super) trait ReadSeek: Read + Seek {}

impl<R: Read + Seek> ReadSeek for R {}

impl<'a> Opened<&'a [u8]> {
    /// A file that is in memory already.
    pub(super) fn of_bytes(file: &str, bytes: &'a [u8]) -> Self {
        Self {
            file: file.to_owned(),
            reader: bytes,
            bytes: bytes.len() as u64,
        }
    }
}

/// A whole file in memory.
pub(super) enum Content {
    Read(Vec<u8>),
    Picked(Picked),
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Picked(picked) => picked.as_ref(),
        }
    }
}

/// Whether `path` names a picked file.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn is_picked(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Opens the file `path`.
pub(super) fn open(path: &str) -> Result<Opened<Box<dyn ReadSeek>>, DataError> {
    if let Some(picked) = find_picked(path)? {
        return Ok(Opened {
            file: path.to_owned(),
            bytes: picked.as_ref().len() as u64,
            reader: Box::new(Cursor::new(picked)),
        });
    }
    open_path(path)
}

/// Reads the file `path` as a whole. `times` is how many times its size the result will take beside it.
pub(super) fn content(path: &str, times: u64) -> Result<Content, DataError> {
    if let Some(picked) = find_picked(path)? {
        check_block((picked.as_ref().len() as u64).saturating_mul(times))?;
        return Ok(Content::Picked(picked));
    }
    let mut opened = open_path(path)?;
    check_block(opened.bytes.saturating_mul(times.saturating_add(1)))?;
    let mut bytes = Vec::new();
    reserve(&opened.file, &mut bytes, opened.bytes)?;
    opened
        .reader
        .read_to_end(&mut bytes)
        .map_err(|error| DataError::read(&opened.file, &error))?;
    Ok(Content::Read(bytes))
}

/// Reserves room for `count` more elements, or says that there is no memory for them.
pub(super) fn reserve<T>(file: &str, values: &mut Vec<T>, count: u64) -> Result<(), DataError> {
    let bytes = count.saturating_mul(size_of::<T>() as u64);
    check_block(bytes)?;
    let room = usize::try_from(count).ok();
    match room.map(|count| values.try_reserve_exact(count)) {
        Some(Ok(())) => Ok(()),
        _ => Err(DataError::NoMemory {
            file: file.to_owned(),
            bytes,
        }),
    }
}

fn find_picked(path: &str) -> Result<Option<Picked>, DataError> {
    let Some(name) = path.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    match picked::picked(name) {
        Some(file) => Ok(Some(file)),
        None => Err(DataError::NotPicked {
            path: path.to_owned(),
            known: match picked::names() {
                names if names.is_empty() => String::from("none"),
                names => names.join(", "),
            },
        }),
    }
}

#[cfg(target_arch = "wasm32")]
fn open_path(path: &str) -> Result<Opened<Box<dyn ReadSeek>>, DataError> {
    Err(DataError::FileInBrowser {
        path: path.to_owned(),
    })
}

#[cfg(not(target_arch = "wasm32"))]
fn open_path(path: &str) -> Result<Opened<Box<dyn ReadSeek>>, DataError> {
    let read_error = |error: std::io::Error| DataError::read(path, &error);
    let file = std::fs::File::open(path).map_err(read_error)?;
    let metadata = file.metadata().map_err(read_error)?;
    if metadata.is_dir() {
        return Err(DataError::format(
            path,
            "this is a folder; give the path of a file in it",
        ));
    }
    Ok(Opened {
        file: path.to_owned(),
        reader: Box::new(std::io::BufReader::new(file)),
        bytes: metadata.len(),
    })
}
