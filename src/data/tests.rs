//! What the tests of the formats share.

use super::dataset::{Batch, Dataset, Split};
use super::error::DataError;
use super::picked;
use crate::experiment::Data;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, Waker};

/// A folder for the files of one test.
pub(super) struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    pub(super) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn shown(&self) -> String {
        self.root.path().display().to_string()
    }

    /// Writes a file, and the folders it is in.
    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
}

/// The data set `source` at `path`.
pub(super) fn data(source: &str, path: &str) -> Data {
    Data {
        path: Some(path.to_owned()),
        ..Data::new(source, 2)
    }
}

/// Loads on the desktop, where nothing is waited for.
pub(super) fn load(data: &Data, context: Option<usize>) -> Result<Split, DataError> {
    let loading = std::pin::pin!(super::load(data, context));
    match Future::poll(loading, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("reading files waits for nobody"),
    }
}

/// Loads `bytes` as the picked file `name`, which must be of this test alone.
pub(super) fn load_picked(source: &str, name: &str, bytes: &[u8]) -> Result<Split, DataError> {
    picked::offer(name, bytes.to_vec());
    let split = load(&data(source, &picked::path_of(name)), None);
    picked::withdraw(name);
    split
}

/// Checks that `result` is an error whose message has all `parts`.
#[track_caller]
pub(super) fn refused<T>(result: Result<T, DataError>, parts: &[&str]) {
    let text = match result {
        Ok(_) => panic!("this should be refused with {parts:?}"),
        Err(error) => error.to_string(),
    };
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// Checks that there is one notice, with all `parts`.
#[track_caller]
pub(super) fn noticed(split: &Split, parts: &[&str]) {
    assert_eq!(split.notices.len(), 1, "{:?}", split.notices);
    for part in parts {
        let notice = &split.notices[0];
        assert!(notice.contains(part), "{part:?} is not in: {notice}");
    }
}

/// The features of one sample, as a model sees them.
pub(super) fn sample(dataset: &Dataset, index: u32) -> Vec<f32> {
    let mut batch = Batch::default();
    dataset.fill(&[index], 1, &mut batch);
    batch.features.into_iter().map(f32::from_bits).collect()
}
