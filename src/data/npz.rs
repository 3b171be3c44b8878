//! Arrays x and y in an NPZ file, which is a ZIP archive of NPY files, or in a folder of NPY files.

use super::csv::MOST_CLASSES;
use super::dataset::Values;
use super::error::DataError;
use super::file::{Opened, ReadSeek, open};
use super::info::SourceInfo;
use super::npy::Header;
use super::parts::{Part, Parts};
use crate::experiment;
use std::io::{self, Read};
use zip::ZipArchive;
use zip::result::ZipError;

/// The names of an array of samples and of its labels.
type Pair = (&'static str, &'static str);

/// The arrays to learn from, and those to test with. Case is no matter, as many write X.
const NAMES: [(Pair, Option<Pair>); 4] = [
    (("x_train", "y_train"), Some(("x_test", "y_test"))),
    (
        ("train_images", "train_labels"),
        Some(("test_images", "test_labels")),
    ),
    (("x", "y"), None),
    (("images", "labels"), None),
];

/// A last size up to this is taken for the channels of an image.
const MOST_CHANNELS: u64 = 4;

/// What is known of the arrays in `path`: reads the headers of the samples, and the labels.
pub(super) fn info(data: &experiment::Data, path: &str) -> Result<SourceInfo, DataError> {
    let mut arrays = Arrays::open(path)?;
    let names = arrays.choose()?;
    let layout = arrays.with(&names.train.0, |file, header, _| Layout::of(file, header))?;
    let mut classes = Classes::default();
    for (_, labels) in names.pairs() {
        arrays.labels(labels, &mut classes)?;
    }
    Ok(info_of(data, &layout, &classes))
}

/// Reads the arrays in `path`.
pub(super) fn load(data: &experiment::Data, path: &str) -> Result<(SourceInfo, Parts), DataError> {
    let mut arrays = Arrays::open(path)?;
    let names = arrays.choose()?;
    let mut notices = Vec::new();
    let mut classes = Classes::default();
    let (layout, train) = arrays.part(&names.train, &mut classes, &mut notices)?;
    let mut test = None;
    if let Some(pair) = &names.test {
        let (test_layout, part) = arrays.part(pair, &mut classes, &mut notices)?;
        if test_layout.shape != layout.shape {
            let (train, test) = (&names.train.0, &pair.0);
            let reason = format!(
                "a sample of {train} has the shape {:?}, one of {test} {:?}; both must be the same",
                layout.shape, test_layout.shape
            );
            return Err(DataError::format(path, reason));
        }
        test = Some(part);
    }
    let parts = Parts {
        place: path.to_owned(),
        train,
        test,
        notices,
        advice: "save arrays with at least two rows",
    };
    Ok((info_of(data, &layout, &classes), parts))
}

fn info_of(data: &experiment::Data, layout: &Layout, classes: &Classes) -> SourceInfo {
    let names = (0..classes.count).map(|class| class.to_string()).collect();
    SourceInfo::classes_of(&data.source, layout.shape.clone(), names)
}

/// Classes are the labels from 0 up to the largest.
#[derive(Default)]
struct Classes {
    count: usize,
}

/// The arrays that were found.
struct Names {
    train: (String, String),
    test: Option<(String, String)>,
}

impl Names {
    fn pairs(&self) -> impl Iterator<Item = &(String, String)> {
        std::iter::once(&self.train).chain(&self.test)
    }
}

/// Where the arrays are.
enum Arrays {
    Archive {
        file: String,
        zip: ZipArchive<Box<dyn ReadSeek>>,
        names: Vec<String>,
    },
    #[cfg(not(target_arch = "wasm32"))]
    Folder { path: String, names: Vec<String> },
}

impl Arrays {
    fn open(path: &str) -> Result<Self, DataError> {
        #[cfg(not(target_arch = "wasm32"))]
        if !super::file::is_picked(path) && std::path::Path::new(path).is_dir() {
            return Self::open_folder(path);
        }
        let Opened { file, reader, .. } = open(path)?;
        let zip = ZipArchive::new(reader).map_err(|error| {
            let hint = if path.ends_with(".npy") {
                "one array is not enough: put x and y into one file with numpy.savez, or give the folder that holds x.npy and y.npy"
            } else {
                "write it with numpy.savez(\"data.npz\", x=x, y=y)"
            };
            DataError::format(path, format!("this is no NPZ file ({error}); {hint}"))
        })?;
        let names = (0..zip.len())
            .filter_map(|place| zip.name_for_index(place)?.ok())
            .map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned())
            .collect();
        Ok(Self::Archive { file, zip, names })
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn open_folder(path: &str) -> Result<Self, DataError> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|error| DataError::read(path, &error))? {
            let entry = entry.map_err(|error| DataError::read(path, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".npy").map(str::to_owned));
        }
        names.sort();
        Ok(Self::Folder {
            path: path.to_owned(),
            names,
        })
    }

    fn place(&self) -> &str {
        match self {
            Self::Archive { file, .. } => file,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder { path, .. } => path,
        }
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Archive { names, .. } => names,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder { names, .. } => names,
        }
    }

    /// Finds the arrays of samples and labels.
    fn choose(&self) -> Result<Names, DataError> {
        let find = |name: &str| {
            let mut names = self.names().iter();
            names
                .find(|found| found.eq_ignore_ascii_case(name))
                .cloned()
        };
        let pair = |(samples, labels): Pair| find(samples).zip(find(labels));
        for (train, test) in NAMES {
            if let Some(train) = pair(train) {
                let test = test.and_then(pair);
                return Ok(Names { train, test });
            }
        }
        let found = match self.names() {
            [] => String::from("none"),
            names => names.join(", "),
        };
        let reason = format!(
            "its arrays are: {found}; a pair of samples and labels is needed: x and y, x_train and y_train (with x_test and y_test), images and labels, or train_images and train_labels (with test_images and test_labels)"
        );
        Err(DataError::format(self.place(), reason))
    }

    /// Calls `work` with the name for messages, the header of the array `name`, and a reader behind that header.
    fn with<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&str, &Header, &mut dyn Read) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        match self {
            Self::Archive { file, zip, names } => {
                let shown = format!("{file}: array {name}");
                let refuse = |error: ZipError| {
                    DataError::format(
                        &shown,
                        format!("it cannot be unpacked ({error}); save the file again"),
                    )
                };
                let place = names.iter().position(|known| known == name);
                let mut member = zip.by_index(place.unwrap_or(usize::MAX)).map_err(refuse)?;
                let bytes = member.size();
                let header = Header::read(&shown, &mut member)?;
                header.check_size(&shown, bytes)?;
                work(&shown, &header, &mut member)
            }
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder { path, .. } => {
                let file = std::path::Path::new(path.as_str()).join(format!("{name}.npy"));
                let mut opened = open(&file.display().to_string())?;
                let header = Header::read(&opened.file, &mut opened.reader)?;
                header.check_size(&opened.file, opened.bytes)?;
                header.seek(&opened.file, &mut opened.reader, 0)?;
                work(&opened.file, &header, &mut opened.reader)
            }
        }
    }

    /// Reads a pair of arrays.
    fn part(
        &mut self,
        (samples, labels): &(String, String),
        classes: &mut Classes,
        notices: &mut Vec<String>,
    ) -> Result<(Layout, Part), DataError> {
        let (shown, rows, layout, values) = self.with(samples, |file, header, mut reader| {
            let layout = Layout::of(file, header)?;
            let values = header.read_rows(file, &mut reader, header.rows())?;
            check_end(file, reader)?;
            Ok((file.to_owned(), header.rows(), layout, values))
        })?;
        let labels_shown = self.with(labels, |file, _, _| Ok(file.to_owned()))?;
        let labels = self.labels(labels, classes)?;
        if labels.len() as u64 != rows {
            return Err(DataError::CountMismatch {
                images_file: shown,
                images: rows,
                labels_file: labels_shown,
                labels: labels.len() as u64,
            });
        }
        if rows == 0 {
            notices.push(format!(
                "{shown}: the array has no rows, it adds no samples"
            ));
        }
        let values = match values {
            Values::Bytes(bytes) => Values::Bytes(layout.channels_last(bytes)),
            Values::Numbers(numbers) => Values::Numbers(layout.channels_last(numbers)),
            tokens @ Values::Tokens(_) => tokens,
        };
        Ok((layout, Part { values, labels }))
    }

    /// Reads the array of labels `name`, and notes what classes there are.
    fn labels(&mut self, name: &str, classes: &mut Classes) -> Result<Vec<u32>, DataError> {
        self.with(name, |file, header, mut reader| {
            let per_row: u64 = header.shape.iter().skip(1).product();
            if header.shape.is_empty() || per_row > 1 {
                let reason = format!(
                    "its shape is {}, labels need one class number per sample; of one-hot rows numpy.argmax(y, axis=1) makes them",
                    header.sizes()
                );
                return Err(DataError::format(file, reason));
            }
            let label = |(row, number): (usize, f32)| {
                let whole = number.fract() == 0.0 && (0.0..MOST_CLASSES as f32).contains(&number);
                if whole {
                    return Ok(number as u32);
                }
                let reason = format!(
                    "label {row} is {number}; classes are whole numbers from 0 to {}, number them so, for example with numpy.unique(y, return_inverse=True)",
                    MOST_CLASSES - 1
                );
                Err(DataError::format(file, reason))
            };
            let values = header.read_rows(file, &mut reader, header.rows())?;
            check_end(file, reader)?;
            let labels: Vec<u32> = match values {
                Values::Bytes(bytes) => bytes.into_iter().map(u32::from).collect(),
                Values::Numbers(numbers) => {
                    numbers.into_iter().enumerate().map(label).collect::<Result<_, _>>()?
                }
                Values::Tokens(_) => Vec::new(),
            };
            let largest = labels.iter().max().map_or(0, |&label| label as usize + 1);
            classes.count = classes.count.max(largest);
            Ok(labels)
        })
    }
}

/// Reads to the end: only there the checksum of an archive is compared.
fn check_end(file: &str, reader: &mut dyn Read) -> Result<(), DataError> {
    io::copy(reader, &mut io::sink()).map_err(|error| {
        DataError::format(
            file,
            format!("it is damaged ({error}); save the file again"),
        )
    })?;
    Ok(())
}

/// How a row of an array is one sample.
struct Layout {
    /// [height, width, channels] of an image, otherwise [features].
    shape: Vec<usize>,
    /// Whether the file has the channels before the rows of the image, as PyTorch does.
    channels_first: bool,
}

impl Layout {
    fn of(file: &str, header: &Header) -> Result<Self, DataError> {
        let refuse = || {
            let reason = format!(
                "its shape is {}, samples need [samples, features], [samples, height, width], [samples, height, width, channels] or [samples, channels, height, width], none of them 0; reshape it before saving",
                header.sizes()
            );
            DataError::format(file, reason)
        };
        let (sizes, channels_first) = match header.shape[..] {
            [_] => (vec![1], false),
            [_, features] => (vec![features], false),
            [_, height, width] => (vec![height, width, 1], false),
            [_, channels @ (1 | 3), height, width] if width > MOST_CHANNELS => {
                (vec![height, width, channels], true)
            }
            [_, height, width, channels] => (vec![height, width, channels], false),
            _ => return Err(refuse()),
        };
        let in_kernels = |&size: &u64| u32::try_from(size).ok().filter(|&size| size > 0);
        let shape: Option<Vec<u32>> = sizes.iter().map(in_kernels).collect();
        Ok(Self {
            shape: shape
                .ok_or_else(refuse)?
                .into_iter()
                .map(|size| size as usize)
                .collect(),
            channels_first,
        })
    }

    /// Moves the channels of each pixel together.
    fn channels_last<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        let &[height, width, channels] = self.shape.as_slice() else {
            return values;
        };
        if !self.channels_first || channels == 1 {
            return values;
        }
        let plane = height * width;
        let mut sample = Vec::with_capacity(channels * plane);
        let mut values = values;
        for image in values.chunks_exact_mut(channels * plane) {
            sample.clear();
            sample.extend_from_slice(image);
            for (place, value) in image.iter_mut().enumerate() {
                *value = sample[place % channels * plane + place / channels];
            }
        }
        values
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "npz_tests.rs"]
mod tests;
