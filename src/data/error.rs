//! What can be wrong with a data set, in words a user can act on.

use crate::units::Bytes;
use std::io;

/// Why samples could not be loaded. All of these are bad input.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// `data.source` names no known set.
    #[error("data.source = \"{found}\": unknown data set; allowed: {allowed}")]
    UnknownSource {
        /// The name as given.
        found: String,
        /// All known names.
        allowed: String,
    },
    /// `data.path` was given where there are no files.
    #[error(
        "data.path = \"{path}\": a page in the browser cannot read folders; remove data.path to train on the subset beside the page, or use the desktop program"
    )]
    PathInBrowser {
        /// The path as given.
        path: String,
    },
    /// A file was named by its path where there are no files.
    #[error(
        "data.path = \"{path}\": a page in the browser cannot open files by their path; pick the file with the button or drop it on the page, which gives it the path picked:NAME, or use the desktop program"
    )]
    FileInBrowser {
        /// The path as given.
        path: String,
    },
    /// A folder of images where there are no folders.
    #[error(
        "data.path = \"{path}\": data.source = \"images\" reads a folder, and {limit}; put the images into an .npz file for data.source = \"npy\", or use the desktop program with the path of a folder"
    )]
    NeedsFolder {
        /// The path as given.
        path: String,
        /// Why there is none.
        limit: &'static str,
    },
    /// `data.path` names a picked file that is not there.
    #[error(
        "data.path = \"{path}\": no file of this name was picked; picked are: {known}; pick the file or drop it on the page"
    )]
    NotPicked {
        /// The path as given.
        path: String,
        /// The names of the files that are there.
        known: String,
    },
    /// A source that needs a path has none.
    #[error("data.path is missing: data.source = \"{source_name}\" reads files; give their path")]
    NoPath {
        /// The source.
        source_name: String,
    },
    /// Text for a model that learns from classified samples.
    #[error(
        "data.source = \"{source_name}\" is text, which only model.kind = \"transformer\" learns from; choose that model, or a source of classified samples"
    )]
    TextNeedsContext {
        /// The source.
        source_name: String,
    },
    /// `data.path` is not a folder.
    #[error("data.path = \"{path}\" is not a folder; give the folder that holds {names}")]
    NotAFolder {
        /// The path as given.
        path: String,
        /// The files that belong into it.
        names: String,
    },
    /// A file of the set is not there.
    #[error(
        "data.path = \"{path}\": there is neither {name} nor {name}.gz in it; the folder must hold {names}, each plain or with .gz"
    )]
    MissingFile {
        /// The folder.
        path: String,
        /// The missing file, without `.gz`.
        name: String,
        /// All files that belong into the folder.
        names: String,
    },
    /// The system could not read a file.
    #[error("cannot read {file}: {reason}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// The page could not fetch a file.
    #[error(
        "cannot fetch {file}: {reason}; check that the data folder was published beside the page"
    )]
    Fetch {
        /// Address of the file.
        file: String,
        /// What the browser or the server says.
        reason: String,
    },
    /// Content that is not as its format wants it.
    #[error("{file}: {reason}")]
    Format {
        /// The file or folder.
        file: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Files without a single sample.
    #[error("{file}: there are no samples in it; {advice}")]
    NoSamples {
        /// The file or folder.
        file: String,
        /// What to do.
        advice: String,
    },
    /// A set that cannot be divided into a training and a test part.
    #[error(
        "{file}: there is only 1 sample in it; one to learn from and one to test with are the least"
    )]
    OneSample {
        /// The file or folder.
        file: String,
    },
    /// More samples than 32 bits count.
    #[error(
        "{file}: there are {samples} samples in it, at most 4294967295 can be told apart; divide the file"
    )]
    TooManySamples {
        /// The file or folder.
        file: String,
        /// How many there are.
        samples: u64,
    },
    /// The system has no memory left.
    #[error("{file}: there is no memory left for its {}; use a smaller data set", Bytes(*.bytes))]
    NoMemory {
        /// The file.
        file: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A gzip file that ends too early.
    #[error(
        "{file}: the gzip data ends after {unpacked_bytes} unpacked bytes, before its end mark; the file is cut off, fetch it again"
    )]
    TruncatedGzip {
        /// The file.
        file: String,
        /// Bytes that could be unpacked.
        unpacked_bytes: u64,
    },
    /// A gzip file whose content is damaged.
    #[error("{file}: the gzip data is damaged ({reason}); fetch the file again")]
    DamagedGzip {
        /// The file.
        file: String,
        /// What the reader says.
        reason: String,
    },
    /// A file shorter than an IDX header.
    #[error(
        "{file}: the file has {found_bytes} bytes, its IDX header alone needs {header_bytes}; it is empty or cut off, fetch it again"
    )]
    TruncatedHeader {
        /// The file.
        file: String,
        /// Bytes there are.
        found_bytes: usize,
        /// Bytes a header has.
        header_bytes: usize,
    },
    /// A file that is not the kind of IDX file it should be.
    #[error(
        "{file}: wrong IDX magic number: found {found:#010x}, expected {expected:#010x} ({kind}); {hint}"
    )]
    WrongMagic {
        /// The file.
        file: String,
        /// The first four bytes, big-endian.
        found: u32,
        /// What they should be.
        expected: u32,
        /// What kind of file that is.
        kind: &'static str,
        /// What may have happened.
        hint: &'static str,
    },
    /// A header with sizes that no file can have.
    #[error(
        "{file}: the header declares {sizes} elements, more than this program can address; the file is damaged, fetch it again"
    )]
    AbsurdSizes {
        /// The file.
        file: String,
        /// The sizes, joined by "x".
        sizes: String,
    },
    /// A header with a size of zero.
    #[error(
        "{file}: the header declares {sizes} elements; a data set needs at least one image of at least one pixel"
    )]
    Empty {
        /// The file.
        file: String,
        /// The sizes, joined by "x".
        sizes: String,
    },
    /// Fewer bytes than the header declares.
    #[error(
        "{file}: the header declares {sizes} = {expected_bytes} bytes, but {found_bytes} follow; the file is cut off, fetch it again"
    )]
    TruncatedBody {
        /// The file.
        file: String,
        /// The sizes, joined by "x".
        sizes: String,
        /// Bytes that should follow the header.
        expected_bytes: u64,
        /// Bytes that do.
        found_bytes: u64,
    },
    /// More bytes than the header declares.
    #[error(
        "{file}: the header declares {sizes} = {expected_bytes} bytes, but more follow; the file is not the one its header describes, fetch it again"
    )]
    TrailingBytes {
        /// The file.
        file: String,
        /// The sizes, joined by "x".
        sizes: String,
        /// Bytes that should follow the header.
        expected_bytes: u64,
    },
    /// Images of another size than the source has.
    #[error(
        "{file}: the images have {found} pixels, {dataset} has {expected}; check that data.path holds {dataset}"
    )]
    WrongShape {
        /// The file.
        file: String,
        /// Rows and columns found.
        found: String,
        /// Rows and columns of the source.
        expected: String,
        /// The source.
        dataset: String,
    },
    /// Images and labels that do not belong together.
    #[error(
        "{images_file} has {images} images but {labels_file} has {labels} labels; the two files are not of one set, use a matching pair"
    )]
    CountMismatch {
        /// The file with the images.
        images_file: String,
        /// Images in it.
        images: u64,
        /// The file with the labels.
        labels_file: String,
        /// Labels in it.
        labels: u64,
    },
    /// A label that names no class.
    #[error(
        "{file}: label {index} is {value}, allowed are 0 to {largest}; the file is damaged or of another set"
    )]
    LabelOutOfRange {
        /// The file.
        file: String,
        /// Which label, counted from 0.
        index: u64,
        /// Its value.
        value: u64,
        /// The largest class.
        largest: usize,
    },
    /// A set that does not fit into the memory of the host.
    #[error(
        "the data needs {} of host memory, but this program can hold at most {} ({}); use a smaller data set, or train with the desktop program",
        Bytes(*.bytes), Bytes(*.limit_bytes), .limited_by
    )]
    HostCapacity {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes there can be.
        limit_bytes: u64,
        /// Where the limit comes from.
        limited_by: &'static str,
    },
}

impl DataError {
    /// The system's words about `file`.
    pub(super) fn read(file: &str, error: &io::Error) -> Self {
        Self::Read {
            file: file.to_owned(),
            reason: error.to_string(),
        }
    }

    /// Content of `file` that is not as it should be; `reason` also says what to do.
    pub(super) fn format(file: &str, reason: impl Into<String>) -> Self {
        Self::Format {
            file: file.to_owned(),
            reason: reason.into(),
        }
    }
}
