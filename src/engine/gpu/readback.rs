//! Bringing bytes back to the host: natively by a wait with a time limit, in a browser by giving control back to it.

use super::device::Device;
use crate::engine::EngineError;

/// How long a native wait lasts before the device is taken to be stuck. Work is cut into submissions of a fraction of a
/// second, so this is never reached by honest work.
#[cfg(not(target_arch = "wasm32"))]
const TIMEOUT_SECONDS: u64 = 120;

/// A buffer that is being mapped.
pub(super) struct Mapping {
    done: async_channel::Receiver<Result<(), wgpu::BufferAsyncError>>,
    submission: wgpu::SubmissionIndex,
}

impl Mapping {
    /// Starts to map `buffer`, which is written by `submission`.
    pub(super) fn start(buffer: &wgpu::Buffer, submission: wgpu::SubmissionIndex) -> Self {
        let (sender, done) = async_channel::bounded(1);
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver is gone when the training was reset meanwhile; then nobody wants the result.
            let _ = sender.try_send(result);
        });
        Self { done, submission }
    }

    /// Whether the buffer is mapped; never waits.
    pub(super) fn is_done(&self, device: &Device) -> bool {
        device.look();
        !self.done.is_empty()
    }

    /// Waits until the buffer is mapped.
    pub(super) async fn wait(self, device: &Device) -> Result<(), EngineError> {
        #[cfg(not(target_arch = "wasm32"))]
        block(device, self.submission)?;
        #[cfg(target_arch = "wasm32")]
        let _ = self.submission;
        device.faults.check()?;
        match self.done.recv().await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(EngineError::DeviceLost {
                reason: error.to_string(),
            }),
            Err(_) => Err(EngineError::DeviceLost {
                reason: "the readback was dropped".into(),
            }),
        }
    }
}

/// Waits until the device has done `submission`.
#[cfg(not(target_arch = "wasm32"))]
pub(super) async fn finished(
    device: &Device,
    submission: wgpu::SubmissionIndex,
) -> Result<(), EngineError> {
    block(device, submission)
}

/// Gives control back to the browser until the device has done everything submitted so far.
#[cfg(target_arch = "wasm32")]
pub(super) async fn finished(
    device: &Device,
    _submission: wgpu::SubmissionIndex,
) -> Result<(), EngineError> {
    let (sender, done) = async_channel::bounded(1);
    device.queue.on_submitted_work_done(move || {
        // Nobody listens any more if the training was reset meanwhile.
        let _ = sender.try_send(());
    });
    done.recv().await.map_err(|_| EngineError::DeviceLost {
        reason: "the device went away with work to do".into(),
    })
}

/// Blocks the thread until the device has done `submission`.
#[cfg(not(target_arch = "wasm32"))]
fn block(device: &Device, submission: wgpu::SubmissionIndex) -> Result<(), EngineError> {
    let waited = device.wgpu.poll(wgpu::PollType::Wait {
        submission_index: Some(submission),
        timeout: Some(std::time::Duration::from_secs(TIMEOUT_SECONDS)),
    });
    match waited {
        Ok(_) => Ok(()),
        Err(wgpu::PollError::Timeout) => Err(EngineError::Timeout {
            seconds: TIMEOUT_SECONDS,
        }),
        Err(error) => Err(EngineError::DeviceLost {
            reason: error.to_string(),
        }),
    }
}

/// The first `n_words` words of a mapped buffer; unmaps it.
pub(super) fn take_words(buffer: &wgpu::Buffer, n_words: usize) -> Result<Vec<u32>, EngineError> {
    let words = {
        let view = buffer
            .get_mapped_range(..(4 * n_words) as u64)
            .map_err(|error| EngineError::Validation(error.to_string()))?;
        view.chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    };
    buffer.unmap();
    Ok(words)
}
