//! How much the host can hold, asked before anything is allocated.

use super::error::DataError;

/// Host memory that 32-bit WebAssembly can address, in bytes.
pub const WASM_HOST_LIMIT_BYTES: u64 = 1 << 32;

/// Refuses to load more than fits, before anything is allocated: memory of WebAssembly that has grown never shrinks.
///
/// # Errors
/// [`DataError::HostCapacity`] where `bytes` is above `limit_bytes`.
pub fn check_host_capacity(bytes: u64, limit_bytes: u64) -> Result<(), DataError> {
    if bytes <= limit_bytes {
        return Ok(());
    }
    Err(DataError::HostCapacity {
        bytes,
        limit_bytes,
        limited_by: if limit_bytes == WASM_HOST_LIMIT_BYTES {
            "the limit of 32-bit WebAssembly in a browser"
        } else {
            "the largest single block of memory here"
        },
    })
}

/// Refuses one block of memory that this build can never have.
pub(super) fn check_block(bytes: u64) -> Result<(), DataError> {
    if cfg!(target_arch = "wasm32") {
        check_host_capacity(bytes, WASM_HOST_LIMIT_BYTES)?;
    }
    check_host_capacity(bytes, isize::MAX as u64)
}
