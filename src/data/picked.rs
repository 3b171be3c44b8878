//! Files that were handed to the program instead of being opened by their path: picked or dropped on a page, which has
//! no files of its own.
//!
//! A `data.path` of `picked:NAME` names one, on every platform.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a path to a picked file starts with.
pub const PREFIX: &str = "picked:";

static FILES: Mutex<BTreeMap<String, Picked>> = Mutex::new(BTreeMap::new());

/// The bytes of a picked file; copies share them.
///
/// A vector and not a slice: making a shared slice would copy the file, and memory of WebAssembly that has grown never
/// shrinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked(Arc<Vec<u8>>);

impl AsRef<[u8]> for Picked {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Keeps `bytes` under `name`, in the place of a file of that name that was picked before.
pub fn offer(name: &str, bytes: Vec<u8>) {
    files().insert(name.to_owned(), Picked(Arc::new(bytes)));
}

/// The file `name`, if it was picked.
pub fn picked(name: &str) -> Option<Picked> {
    files().get(name).cloned()
}

/// Forgets the file `name`. Its memory is freed once nothing reads it any more.
pub fn withdraw(name: &str) {
    files().remove(name);
}

/// The path under which an experiment finds the file `name`.
pub fn path_of(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The names of all picked files, sorted.
pub fn names() -> Vec<String> {
    files().keys().cloned().collect()
}

/// Host bytes held by all picked files.
pub fn bytes() -> u64 {
    files().values().map(|file| file.0.capacity() as u64).sum()
}

fn files() -> MutexGuard<'static, BTreeMap<String, Picked>> {
    // No code panics while it holds the lock, and a map of files is whole at any time.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picked_file_is_there_until_it_is_withdrawn() {
        let name = "picked test.txt";
        assert_eq!(picked(name), None);
        offer(name, vec![1, 2, 3]);
        offer(name, vec![4]);
        let file = picked(name).unwrap();
        assert_eq!(file.as_ref(), [4]);
        assert!(names().contains(&name.to_owned()) && bytes() >= 1);
        withdraw(name);
        assert_eq!(picked(name), None);
        assert_eq!(file.as_ref(), [4], "who reads it still has it");
        assert_eq!(path_of(name), "picked:picked test.txt");
    }
}
