//! What can be wrong with a data set, in words a user can act on.

use crate::units::Bytes;

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
        images: usize,
        /// The file with the labels.
        labels_file: String,
        /// Labels in it.
        labels: usize,
    },
    /// A label that names no class.
    #[error(
        "{file}: label {index} is {value}, allowed are 0 to {largest}; the file is damaged or of another set"
    )]
    LabelOutOfRange {
        /// The file.
        file: String,
        /// Which label, counted from 0.
        index: usize,
        /// Its value.
        value: u8,
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
