//! Training and test samples: where they come from, how they are read, and in which order they are visited.

pub mod idx;
pub mod order;

#[cfg(target_arch = "wasm32")]
mod browser;
mod dataset;
#[cfg(not(target_arch = "wasm32"))]
mod desktop;
mod error;
mod source;

pub use dataset::{Dataset, PADDING_LABEL, Split};
pub use error::DataError;
pub use source::{SourceInfo, WASM_HOST_LIMIT_BYTES, check_host_capacity, load, source_info};
