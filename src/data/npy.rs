//! One array in NumPy's format NPY, versions 1 to 3 (NumPy Enhancement Proposal 1): a header in Python's notation, then
//! the elements.
//!
//! Sizes and offsets are 64 bits wide on every platform, as a file may be larger than the memory of WebAssembly.

use super::dataset::Values;
use super::error::DataError;
use super::file::reserve;
use std::io::Read;
#[cfg(not(target_arch = "wasm32"))]
use std::io::{Seek, SeekFrom};

const MAGIC: &[u8] = b"\x93NUMPY";

/// A header is a line of text; longer ones describe records with many fields, which are refused anyway.
const LONGEST_HEADER_BYTES: u64 = 1 << 16;

/// Elements are decoded in blocks of this many bytes, a multiple of every element size.
const BLOCK_BYTES: u64 = 1 << 16;

/// What the header of an array says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    element: Element,
    big_endian: bool,
    /// Whether the first index runs fastest.
    fortran: bool,
    pub(super) shape: Vec<u64>,
    /// Bytes before the first element.
    data_offset: u64,
}

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Unsigned(u64),
    Signed(u64),
    Float(u64),
}

impl Element {
    fn bytes(self) -> u64 {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes) => bytes,
        }
    }
}

impl Header {
    /// Reads the header at the start of `reader`. `file` is the name of the array, for messages.
    pub(super) fn read(file: &str, reader: &mut impl Read) -> Result<Self, DataError> {
        let start = take(file, reader, 8)?;
        if !start.starts_with(MAGIC) {
            let reason = "this is no NPY file, which begins with \\x93NUMPY; write it with numpy.save or numpy.savez";
            return Err(DataError::format(file, reason));
        }
        let version = start.get(6).copied().unwrap_or_default();
        let length_bytes = match version {
            1 => 2,
            2 | 3 => 4,
            _ => {
                let reason = format!(
                    "version {version} of the NPY format is unknown, allowed are 1 to 3; write the file with numpy.save"
                );
                return Err(DataError::format(file, reason));
            }
        };
        let length = take(file, reader, length_bytes)?
            .iter()
            .rev()
            .fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte));
        if length > LONGEST_HEADER_BYTES {
            let reason = format!(
                "its header has {length} bytes, at most {LONGEST_HEADER_BYTES} are read; save a plain array of numbers"
            );
            return Err(DataError::format(file, reason));
        }
        let text = take(file, reader, length)?;
        let text = String::from_utf8_lossy(&text);
        let refuse = |what: &str| {
            let text = text.trim();
            let reason = format!("its header {text} has {what}; write the file with numpy.save");
            DataError::format(file, reason)
        };
        let kind = value_of(&text, "descr").ok_or_else(|| refuse("no 'descr'"))?;
        let (element, big_endian) = element_of(kind).ok_or_else(|| refuse_element(file, kind))?;
        let fortran = match value_of(&text, "fortran_order") {
            Some("True") => true,
            Some("False") => false,
            _ => return Err(refuse("no 'fortran_order'")),
        };
        let shape = value_of(&text, "shape").and_then(shape_of);
        Ok(Self {
            element,
            big_endian,
            fortran,
            shape: shape.ok_or_else(|| refuse("no 'shape' that can be read"))?,
            data_offset: 8 + length_bytes + length,
        })
    }

    /// Number of rows: the first size.
    pub(super) fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    /// The sizes joined by "x".
    pub(super) fn sizes(&self) -> String {
        let sizes: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        sizes.join("x")
    }

    /// Elements of `rows` rows, and their bytes.
    fn count(&self, file: &str, rows: u64) -> Result<(u64, u64), DataError> {
        let mut sizes = self.shape.iter().skip(1).copied();
        let elements = sizes.try_fold(rows, |all: u64, size| all.checked_mul(size));
        let bytes = elements.and_then(|count| count.checked_mul(self.element.bytes()));
        elements.zip(bytes).ok_or_else(|| DataError::AbsurdSizes {
            file: file.to_owned(),
            sizes: self.sizes(),
        })
    }

    /// Checks that the elements are there: `file_bytes` is the size of the whole file.
    pub(super) fn check_size(&self, file: &str, file_bytes: u64) -> Result<(), DataError> {
        let (_, bytes) = self.count(file, self.rows())?;
        let found_bytes = file_bytes.saturating_sub(self.data_offset);
        if found_bytes < bytes {
            return Err(self.truncated(file, bytes, found_bytes));
        }
        Ok(())
    }

    /// Moves `reader` to row `row`, counted from 0. An archive cannot be moved in, and a page has no other files.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn seek(
        &self,
        file: &str,
        reader: &mut impl Seek,
        row: u64,
    ) -> Result<(), DataError> {
        let (_, bytes) = self.count(file, row)?;
        reader
            .seek(SeekFrom::Start(self.data_offset.saturating_add(bytes)))
            .map_err(|error| DataError::read(file, &error))?;
        Ok(())
    }

    /// Reads `rows` rows from where `reader` stands: numbers, or bytes where the elements are.
    pub(super) fn read_rows(
        &self,
        file: &str,
        reader: &mut impl Read,
        rows: u64,
    ) -> Result<Values, DataError> {
        let (elements, bytes) = self.count(file, rows)?;
        if self.fortran && self.shape.len() > 1 && rows != self.rows() {
            let reason = "its rows do not stand together (fortran_order); save it with numpy.ascontiguousarray";
            return Err(DataError::format(file, reason));
        }
        if self.element == Element::Unsigned(1) {
            let mut values = Vec::new();
            reserve(file, &mut values, elements)?;
            reader
                .take(bytes)
                .read_to_end(&mut values)
                .map_err(|error| DataError::read(file, &error))?;
            if (values.len() as u64) < bytes {
                return Err(self.truncated(file, bytes, values.len() as u64));
            }
            return Ok(Values::Bytes(self.in_rows(values)));
        }
        let mut values = Vec::new();
        reserve(file, &mut values, elements)?;
        let mut left = bytes;
        let mut block = Vec::new();
        while left > 0 {
            block.clear();
            reader
                .take(left.min(BLOCK_BYTES))
                .read_to_end(&mut block)
                .map_err(|error| DataError::read(file, &error))?;
            if (block.len() as u64) < left.min(BLOCK_BYTES) {
                return Err(self.truncated(file, bytes, bytes - left + block.len() as u64));
            }
            left -= block.len() as u64;
            let numbers = block.chunks_exact(self.element.bytes() as usize);
            values.extend(numbers.map(|number| self.number(number)));
        }
        self.check_finite(file, &values)?;
        Ok(Values::Numbers(self.in_rows(values)))
    }

    fn truncated(&self, file: &str, expected_bytes: u64, found_bytes: u64) -> DataError {
        DataError::TruncatedBody {
            file: file.to_owned(),
            sizes: self.sizes(),
            expected_bytes,
            found_bytes,
        }
    }

    fn check_finite(&self, file: &str, values: &[f32]) -> Result<(), DataError> {
        let Some(place) = values.iter().position(|value| !value.is_finite()) else {
            return Ok(());
        };
        let value = values.get(place).copied().unwrap_or_default();
        let reason = format!(
            "element {place} of its {} is {value}, which no network learns from; replace such values before saving",
            self.sizes()
        );
        Err(DataError::format(file, reason))
    }

    /// One element as a number. Numbers of 64 bits are rounded to 32.
    fn number(&self, bytes: &[u8]) -> f32 {
        let mut word = [0u8; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        if self.big_endian
            && let Some(used) = word.get_mut(..bytes.len())
        {
            used.reverse();
        }
        let bits = u64::from_le_bytes(word);
        match self.element {
            Element::Unsigned(_) => bits as f32,
            Element::Signed(width) => {
                let unused = 64 - 8 * width as u32;
                (((bits << unused) as i64) >> unused) as f32
            }
            Element::Float(2) => half(bits as u16),
            Element::Float(4) => f32::from_bits(bits as u32),
            Element::Float(_) => f64::from_bits(bits) as f32,
        }
    }

    /// The elements with the last index running fastest.
    fn in_rows<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        if !self.fortran || self.shape.len() < 2 || values.is_empty() {
            return values;
        }
        let sizes: Vec<usize> = self.shape.iter().map(|&size| size as usize).collect();
        let mut steps = Vec::with_capacity(sizes.len());
        let mut step = 1;
        for &size in &sizes {
            steps.push(step);
            step *= size;
        }
        let mut index = vec![0; sizes.len()];
        let mut out = Vec::with_capacity(values.len());
        for _ in 0..values.len() {
            let place: usize = index.iter().zip(&steps).map(|(&i, &step)| i * step).sum();
            out.extend(values.get(place));
            for (i, &size) in index.iter_mut().zip(&sizes).rev() {
                *i += 1;
                if *i < size {
                    break;
                }
                *i = 0;
            }
        }
        out
    }
}

/// Reads exactly `count` bytes.
fn take(file: &str, reader: &mut impl Read, count: u64) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    reader
        .take(count)
        .read_to_end(&mut bytes)
        .map_err(|error| DataError::read(file, &error))?;
    if (bytes.len() as u64) < count {
        return Err(DataError::format(
            file,
            format!(
                "it ends in its header, {count} more bytes were expected and {} came; it is empty or cut off, save it again",
                bytes.len()
            ),
        ));
    }
    Ok(bytes)
}

/// What stands behind `key` in a dictionary of Python: up to the next comma outside parentheses and quotes.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("'{key}'"))?;
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let mut depth = 0u32;
    let mut quoted = false;
    for (place, letter) in value.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth = depth.saturating_sub(1),
            ',' | '}' if !quoted && depth == 0 => return Some(value[..place].trim()),
            _ => {}
        }
    }
    None
}

/// `(60, 28, 28)`, with a comma behind the only size of a row.
fn shape_of(text: &str) -> Option<Vec<u64>> {
    let sizes = text.strip_prefix('(')?.strip_suffix(')')?;
    let sizes = sizes
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    sizes
        .map(|size| size.trim_end_matches('L').parse().ok())
        .collect()
}

/// The element that `'<f4'` stands for, and whether its first byte is the highest.
fn element_of(kind: &str) -> Option<(Element, bool)> {
    let kind = kind.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut letters = kind.chars();
    let big_endian = match letters.next()? {
        '<' | '|' | '=' => false,
        '>' => true,
        _ => return None,
    };
    let element = match letters.as_str() {
        "b1" | "u1" => Element::Unsigned(1),
        "u2" => Element::Unsigned(2),
        "u4" => Element::Unsigned(4),
        "u8" => Element::Unsigned(8),
        "i1" => Element::Signed(1),
        "i2" => Element::Signed(2),
        "i4" => Element::Signed(4),
        "i8" => Element::Signed(8),
        "f2" => Element::Float(2),
        "f4" => Element::Float(4),
        "f8" => Element::Float(8),
        _ => return None,
    };
    Some((element, big_endian))
}

fn refuse_element(file: &str, kind: &str) -> DataError {
    let hint = if kind.contains("U") || kind.contains("S") {
        "number the classes, for example with numpy.unique(y, return_inverse=True)"
    } else {
        "convert it, for example with astype(\"float32\")"
    };
    DataError::format(
        file,
        format!(
            "its elements are {kind}; read are whole numbers (u1 to u8, i1 to i8), truth values (b1) and floats (f2, f4, f8); {hint}"
        ),
    )
}

/// The value of IEEE half precision `bits`.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "npy_tests.rs"]
pub(crate) mod tests;
