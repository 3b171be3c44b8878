//! What the twins of convolutions and pooling share: the sizes of a launch and the walk over a window.

use crate::engine::kernel::{KernelError, Params};

/// Sizes of a picture x, of what a window makes of it, y, and of the window.
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) out_height: usize,
    pub(super) out_width: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
}

impl Sizes {
    pub(super) fn of(params: &Params) -> Result<Self, KernelError> {
        Ok(Self {
            batch: params.get("batch")?,
            height: params.get("height")?,
            width: params.get("width")?,
            channels: params.get("channels")?,
            out_height: params.get("out_height")?,
            out_width: params.get("out_width")?,
            kernel: params.get("kernel")?,
            stride: params.get("stride")?,
            padding: params.get("padding")?,
        })
    }

    /// Pixels of y in the whole batch.
    pub(super) fn out_pixels(&self) -> usize {
        self.batch * self.out_height * self.out_width
    }

    /// Pixels of x in the whole batch.
    pub(super) fn pixels(&self) -> usize {
        self.batch * self.height * self.width
    }

    /// The taps of pixel `m` of y that lie inside x: number of the tap and pixel of x, in order.
    pub(super) fn taps(&self, m: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (x, y) = (m % self.out_width, m / self.out_width % self.out_height);
        let picture = m / (self.out_width * self.out_height);
        (0..self.kernel * self.kernel).filter_map(move |tap| {
            let iy = (y * self.stride + tap / self.kernel).checked_sub(self.padding)?;
            let ix = (x * self.stride + tap % self.kernel).checked_sub(self.padding)?;
            let inside = iy < self.height && ix < self.width;
            inside.then(|| (tap, (picture * self.height + iy) * self.width + ix))
        })
    }

    /// The pixels of y that have a tap on pixel `p` of x: number of the tap and pixel of y, in order of the taps.
    pub(super) fn touching(&self, p: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let (x, y) = (p % self.width, p / self.width % self.height);
        let picture = p / (self.width * self.height);
        (0..self.kernel * self.kernel).filter_map(move |tap| {
            let sy = (y + self.padding).checked_sub(tap / self.kernel)?;
            let sx = (x + self.padding).checked_sub(tap % self.kernel)?;
            let on = sy % self.stride == 0 && sx % self.stride == 0;
            let (oy, ox) = (sy / self.stride, sx / self.stride);
            let inside = on && oy < self.out_height && ox < self.out_width;
            inside.then(|| (tap, (picture * self.out_height + oy) * self.out_width + ox))
        })
    }

    /// The pixels of y that belong to part `part` of `splits`.
    pub(super) fn part(&self, part: usize, splits: usize) -> std::ops::Range<usize> {
        let share = self.out_pixels().div_ceil(splits.max(1));
        let end = |part: usize| (part * share).min(self.out_pixels());
        end(part)..end(part + 1)
    }
}
