//! Reader of the IDX format of the MNIST family, plain or compressed with gzip.
//!
//! A file is a big-endian header (magic number, then one size per dimension) and then one byte per element. Nothing is
//! allocated because a header says so: memory grows no further than the bytes that are really there.

use super::capacity::check_block;
use super::error::DataError;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, Cursor, Read};

/// First four bytes of a file of images: unsigned bytes in three dimensions.
pub const IMAGES_MAGIC: u32 = 0x0000_0803;

/// First four bytes of a file of labels: unsigned bytes in one dimension.
pub const LABELS_MAGIC: u32 = 0x0000_0801;

/// First two bytes of a gzip file (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// DEFLATE cannot unpack one byte to more than this many.
const GZIP_MOST_RATIO: u64 = 1032;

/// Images unpack to a few times their size. Memory for more than this ratio is only taken as the bytes come.
const GZIP_USUAL_RATIO: u64 = 16;

/// The elements of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct Images {
    /// Number of images.
    pub count: usize,
    /// Rows of an image.
    pub rows: usize,
    /// Columns of an image.
    pub columns: usize,
    /// Grey values: shape [count, rows, columns].
    pub pixels: Vec<u8>,
}

/// Reads a file of images. `file` is its name for messages, `source_bytes` the size of what `source` gives.
///
/// # Errors
/// Every way in which the file can be cut off, damaged or something else, with its name and what to do.
pub fn read_images(
    file: &str,
    source: impl BufRead,
    source_bytes: u64,
) -> Result<Images, DataError> {
    let (sizes, pixels) = read(file, source, source_bytes, &IMAGES)?;
    let [count, rows, columns] = sizes;
    Ok(Images {
        count,
        rows,
        columns,
        pixels,
    })
}

/// Reads a file of labels; otherwise as [`read_images`].
///
/// # Errors
/// As [`read_images`].
pub fn read_labels(
    file: &str,
    source: impl BufRead,
    source_bytes: u64,
) -> Result<Vec<u8>, DataError> {
    let ([_], labels) = read(file, source, source_bytes, &LABELS)?;
    Ok(labels)
}

/// A kind of IDX file with `N` dimensions.
struct Kind<const N: usize> {
    magic: u32,
    name: &'static str,
}

const IMAGES: Kind<3> = Kind {
    magic: IMAGES_MAGIC,
    name: "images of unsigned bytes",
};

const LABELS: Kind<1> = Kind {
    magic: LABELS_MAGIC,
    name: "labels of unsigned bytes",
};

/// Finds out whether the source is compressed, by its first bytes: servers unpack files without renaming them.
fn read<const N: usize>(
    file: &str,
    mut source: impl BufRead,
    source_bytes: u64,
    kind: &Kind<N>,
) -> Result<([usize; N], Vec<u8>), DataError> {
    let mut start = Vec::with_capacity(GZIP_MAGIC.len());
    source
        .by_ref()
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(|error| DataError::read(file, &error))?;
    let gzip = start == GZIP_MAGIC;
    let whole = Cursor::new(start).chain(source);
    if gzip {
        Source {
            file,
            reader: MultiGzDecoder::new(whole),
            gzip,
            most_bytes: source_bytes.saturating_mul(GZIP_MOST_RATIO),
            usual_bytes: source_bytes.saturating_mul(GZIP_USUAL_RATIO),
            unpacked_bytes: 0,
        }
        .read(kind)
    } else {
        Source {
            file,
            reader: whole,
            gzip,
            most_bytes: source_bytes,
            usual_bytes: source_bytes,
            unpacked_bytes: 0,
        }
        .read(kind)
    }
}

/// The unpacked bytes of one file, with what messages about it need.
struct Source<'a, R> {
    file: &'a str,
    reader: R,
    gzip: bool,
    /// More bytes than this cannot come.
    most_bytes: u64,
    /// Memory that may be taken before the bytes are seen.
    usual_bytes: u64,
    /// Bytes that have come.
    unpacked_bytes: u64,
}

impl<R: Read> Source<'_, R> {
    fn read<const N: usize>(mut self, kind: &Kind<N>) -> Result<([usize; N], Vec<u8>), DataError> {
        let sizes = self.header(kind)?;
        let body = self.body(&sizes)?;
        Ok((sizes, body))
    }

    /// Reads the magic number and the sizes.
    fn header<const N: usize>(&mut self, kind: &Kind<N>) -> Result<[usize; N], DataError> {
        let header_bytes = 4 * (N + 1);
        let header = self.take(header_bytes as u64)?;
        let mut words = header.chunks_exact(4).map(|word| {
            word.iter()
                .fold(0u32, |sum, &byte| (sum << 8) | u32::from(byte))
        });
        // The magic number comes first in the message: it tells a short page of HTML from a file that was cut off.
        if let Some(found) = words.next().filter(|&found| found != kind.magic) {
            return Err(DataError::WrongMagic {
                file: self.file.to_owned(),
                found,
                expected: kind.magic,
                kind: kind.name,
                hint: hint(found),
            });
        }
        if header.len() < header_bytes {
            return Err(DataError::TruncatedHeader {
                file: self.file.to_owned(),
                found_bytes: header.len(),
                header_bytes,
            });
        }
        let mut sizes = [0; N];
        for (size, word) in sizes.iter_mut().zip(words) {
            *size = word as usize;
        }
        Ok(sizes)
    }

    /// Reads the elements, and makes sure that nothing follows.
    fn body(&mut self, sizes: &[usize]) -> Result<Vec<u8>, DataError> {
        let file = || self.file.to_owned();
        let expected = sizes
            .iter()
            .try_fold(1u64, |all, &size| all.checked_mul(size as u64));
        let Some(expected_bytes) = expected else {
            return Err(DataError::AbsurdSizes {
                file: file(),
                sizes: join(sizes),
            });
        };
        if expected_bytes == 0 {
            return Err(DataError::Empty {
                file: file(),
                sizes: join(sizes),
            });
        }
        // A header that declares more than can come is a cut-off file, not a need for memory.
        if expected_bytes <= self.most_bytes {
            check_block(expected_bytes)?;
        }
        let body = self.take(expected_bytes)?;
        if (body.len() as u64) < expected_bytes {
            return Err(DataError::TruncatedBody {
                file: self.file.to_owned(),
                sizes: join(sizes),
                expected_bytes,
                found_bytes: body.len() as u64,
            });
        }
        // Reading on to the end also makes the gzip reader compare its checksum.
        if !self.take(1)?.is_empty() {
            return Err(DataError::TrailingBytes {
                file: self.file.to_owned(),
                sizes: join(sizes),
                expected_bytes,
            });
        }
        Ok(body)
    }

    /// Reads `count` bytes, or fewer where the source ends.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, DataError> {
        let capacity = usize::try_from(count.min(self.usual_bytes)).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let result = match bytes.try_reserve_exact(capacity) {
            Ok(()) => self.reader.by_ref().take(count).read_to_end(&mut bytes),
            Err(_) => Err(io::ErrorKind::OutOfMemory.into()),
        };
        self.unpacked_bytes += bytes.len() as u64;
        result.map_err(|error| self.error(&error))?;
        // Growing step by step leaves memory unused, which would be held as long as the data is.
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    fn error(&self, error: &io::Error) -> DataError {
        let file = self.file.to_owned();
        match (self.gzip, error.kind()) {
            (true, io::ErrorKind::UnexpectedEof) => DataError::TruncatedGzip {
                file,
                unpacked_bytes: self.unpacked_bytes,
            },
            (true, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                DataError::DamagedGzip {
                    file,
                    reason: error.to_string(),
                }
            }
            _ => DataError::read(self.file, error),
        }
    }
}

fn hint(magic: u32) -> &'static str {
    match magic {
        IMAGES_MAGIC => "this is a file of images, were the two swapped?",
        LABELS_MAGIC => "this is a file of labels, were the two swapped?",
        _ if magic >> 8 == 0x0000_0008 => "this is an IDX file of another number of dimensions",
        _ => "this is not an IDX file of bytes, fetch the right one",
    }
}

fn join(sizes: &[usize]) -> String {
    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    sizes.join("x")
}

#[cfg(test)]
#[path = "idx_tests.rs"]
mod tests;
