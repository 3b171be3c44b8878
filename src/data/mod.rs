//! Training and test samples: where they come from, how they are read, and in which order they are visited.
//!
//! One file per format turns files into samples; `load` and `source_info` choose among them by `data.source`.

pub mod idx;
pub mod order;
pub mod picked;

#[cfg(target_arch = "wasm32")]
mod browser;
mod capacity;
mod cifar;
mod codec;
mod csv;
mod dataset;
#[cfg(not(target_arch = "wasm32"))]
mod desktop;
mod error;
mod fashion;
mod file;
#[cfg(not(target_arch = "wasm32"))]
mod folder;
mod info;
mod npy;
mod npz;
mod parts;
mod source;
mod text;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use capacity::{WASM_HOST_LIMIT_BYTES, check_host_capacity};
pub use codec::Codec;
pub use dataset::{Batch, Dataset, PADDING_LABEL, Split, Values};
pub use error::DataError;
pub use info::{Samples, SourceInfo};
pub use source::{load, source_info};
