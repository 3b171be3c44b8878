//! A folder of images: one sub-folder per class, or a training and a test folder with those in each.

use super::dataset::Values;
use super::error::DataError;
use super::file::reserve;
use super::info::SourceInfo;
use super::parts::{Part, Parts};
use crate::experiment;
use image::imageops::FilterType;
use image::{DynamicImage, ImageReader};
use std::fs;
use std::path::{Path, PathBuf};

/// Images become red, green and blue, whatever they are in the file.
const CHANNELS: usize = 3;

/// Endings of image files that are read.
const READ: [&str; 6] = ["png", "jpg", "jpeg", "bmp", "dib", "gif"];

/// Endings of image files that are not, so that a set of them is refused and not skipped.
const NOT_READ: [&str; 9] = [
    "webp", "tif", "tiff", "avif", "heic", "svg", "jp2", "jxl", "ico",
];

/// The folder to learn from, where the parts have folders of their own.
const TRAIN: &str = "train";

/// The folder to test with: the first of these that is there.
const TEST: [&str; 3] = ["test", "val", "validation"];

const ADVICE: &str = "give a folder that holds one folder of PNG, JPEG, BMP or GIF images for each class, or train and test folders with those";

/// What is known of the folder `path`: the names of the folders in it.
pub(super) fn info(data: &experiment::Data, path: &str) -> Result<SourceInfo, DataError> {
    let layout = Layout::find(path)?;
    Ok(info_of(data, &layout))
}

/// Reads the images in the folder `path`.
pub(super) fn load(data: &experiment::Data, path: &str) -> Result<(SourceInfo, Parts), DataError> {
    let layout = Layout::find(path)?;
    let mut notices = layout.notices.clone();
    let mut skipped = Skipped::default();
    let train = read_part(&layout.train, &layout.classes, data.size, &mut skipped)?;
    let test = match &layout.test {
        Some(test) => Some(read_part(test, &layout.classes, data.size, &mut skipped)?),
        None => None,
    };
    notices.extend(skipped.into_notices(path));
    let parts = Parts {
        place: path.to_owned(),
        train,
        test,
        notices,
        advice: ADVICE,
    };
    Ok((info_of(data, &layout), parts))
}

fn info_of(data: &experiment::Data, layout: &Layout) -> SourceInfo {
    let shape = vec![data.size, data.size, CHANNELS];
    SourceInfo::classes_of(&data.source, shape, layout.classes.clone())
}

/// Which folders hold what.
struct Layout {
    train: PathBuf,
    test: Option<PathBuf>,
    /// Names of the class folders, sorted.
    classes: Vec<String>,
    notices: Vec<String>,
}

impl Layout {
    fn find(path: &str) -> Result<Self, DataError> {
        let root = Path::new(path);
        if !root.is_dir() {
            return Err(DataError::NeedsFolder {
                path: path.to_owned(),
                limit: "this is none",
            });
        }
        let train = root.join(TRAIN);
        let in_parts = train.is_dir();
        let train = if in_parts { train } else { root.to_owned() };
        let mut tests = TEST
            .iter()
            .map(|name| root.join(name))
            .filter(|test| in_parts && test.is_dir());
        let test = tests.next();
        let notices = tests
            .map(|unused| {
                format!(
                    "{}: the folder is not used, a test folder is there",
                    unused.display()
                )
            })
            .collect();
        let classes = names_in(&train, true)?;
        if classes.is_empty() {
            return Err(DataError::NoSamples {
                file: train.display().to_string(),
                advice: ADVICE.to_owned(),
            });
        }
        if let Some(test) = &test {
            let unknown = names_in(test, true)?
                .into_iter()
                .find(|name| !classes.contains(name));
            if let Some(name) = unknown {
                let reason = format!(
                    "{} has no folder of this name, so nothing is learned of this class; its folders are {}",
                    train.display(),
                    classes.join(", ")
                );
                let file = test.join(name).display().to_string();
                return Err(DataError::format(&file, reason));
            }
        }
        Ok(Self {
            train,
            test,
            classes,
            notices,
        })
    }
}

/// Files and folders that are no images.
#[derive(Default)]
struct Skipped {
    files: usize,
    folders: usize,
    /// The first of them, as an example.
    example: Option<String>,
    empty_classes: Vec<String>,
}

impl Skipped {
    fn into_notices(self, path: &str) -> Vec<String> {
        let mut notices = Vec::new();
        if let Some(example) = self.example {
            notices.push(format!(
                "{path}: skipped {} and {} that are no images, such as {example}",
                counted(self.files, "file"),
                counted(self.folders, "folder")
            ));
        }
        if !self.empty_classes.is_empty() {
            notices.push(format!(
                "{path}: no images in {}, so these add no samples",
                self.empty_classes.join(", ")
            ));
        }
        notices
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Reads the images of all classes in `folder`, class by class and within a class by name.
fn read_part(
    folder: &Path,
    classes: &[String],
    size: usize,
    skipped: &mut Skipped,
) -> Result<Part, DataError> {
    let mut files = Vec::new();
    let mut labels = Vec::new();
    for (label, class) in classes.iter().enumerate() {
        let class_folder = folder.join(class);
        if !class_folder.is_dir() {
            continue;
        }
        let before = files.len();
        for name in names_in(&class_folder, false)? {
            let file = class_folder.join(&name);
            let is_folder = file.is_dir();
            if !is_folder && is_image(&file)? {
                files.push(file);
                labels.push(label as u32);
                continue;
            }
            if is_folder {
                skipped.folders += 1;
            } else {
                skipped.files += 1;
            }
            skipped
                .example
                .get_or_insert_with(|| file.display().to_string());
        }
        if files.len() == before {
            skipped
                .empty_classes
                .push(class_folder.display().to_string());
        }
    }
    let image_bytes = CHANNELS * size * size;
    let mut pixels = Vec::new();
    let bytes = (files.len() as u64).saturating_mul(image_bytes as u64);
    reserve(&folder.display().to_string(), &mut pixels, bytes)?;
    pixels.resize(files.len() * image_bytes, 0);
    read_images(&files, size, &mut pixels)?;
    Ok(Part {
        values: Values::Bytes(pixels),
        labels,
    })
}

/// Decodes `files` into `pixels` on all processors. Of several broken files the first is told.
fn read_images(files: &[PathBuf], size: usize, pixels: &mut [u8]) -> Result<(), DataError> {
    let image_bytes = CHANNELS * size * size;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    let jobs = files
        .chunks(share)
        .zip(pixels.chunks_mut(share * image_bytes));
    std::thread::scope(|scope| {
        let workers: Vec<_> = jobs
            .map(|(files, pixels)| {
                scope.spawn(move || {
                    let places = pixels.chunks_exact_mut(image_bytes);
                    files
                        .iter()
                        .zip(places)
                        .try_for_each(|(file, place)| read_image(file, size, place))
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| {
                let reason =
                    "decoding an image failed without saying why; convert the images to PNG";
                let folder = files
                    .first()
                    .and_then(|file| file.parent())
                    .unwrap_or(Path::new(""));
                DataError::format(&folder.display().to_string(), reason)
            })??;
        }
        Ok(())
    })
}

/// Decodes one image and resizes it to a square, whatever its own sides are.
fn read_image(file: &Path, size: usize, place: &mut [u8]) -> Result<(), DataError> {
    let shown = file.display().to_string();
    let image: DynamicImage = ImageReader::open(file)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|error| DataError::read(&shown, &error))?
        .decode()
        .map_err(|error| {
            let reason = format!(
                "the image cannot be decoded ({error}); mend it or remove it from the folder"
            );
            DataError::format(&shown, reason)
        })?;
    let side = size as u32;
    let rgb = image.to_rgb8();
    let sized = if rgb.dimensions() == (side, side) {
        rgb
    } else {
        image::imageops::resize(&rgb, side, side, FilterType::Triangle)
    };
    place.copy_from_slice(sized.as_raw());
    Ok(())
}

/// Whether `file` is to be read as an image: by its ending, and where that says nothing by its first bytes.
fn is_image(file: &Path) -> Result<bool, DataError> {
    let ending = file
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let shown = || file.display().to_string();
    if NOT_READ.contains(&ending.as_str()) {
        let reason = format!(
            ".{ending} images are not read; convert them to PNG, JPEG, BMP or GIF, or remove them from the folder"
        );
        return Err(DataError::format(&shown(), reason));
    }
    if READ.contains(&ending.as_str()) {
        return Ok(true);
    }
    let guessed = ImageReader::open(file)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|error| DataError::read(&shown(), &error))?;
    Ok(guessed
        .format()
        .is_some_and(|format| format.reading_enabled()))
}

/// The names of what is in `folder`, sorted, without those that begin with a dot: all of them, or only the folders.
fn names_in(folder: &Path, only_folders: bool) -> Result<Vec<String>, DataError> {
    let shown = folder.display().to_string();
    let read_error = |error: std::io::Error| DataError::read(&shown, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(read_error)? {
        let entry = entry.map_err(read_error)?;
        let Ok(name) = entry.file_name().into_string() else {
            let reason = format!("the name {:?} is no UTF-8; rename it", entry.file_name());
            return Err(DataError::format(&shown, reason));
        };
        if !name.starts_with('.') && (!only_folders || entry.path().is_dir()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
