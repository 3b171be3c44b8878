//! The order in which samples are visited: the same on every platform for one seed, and known for any update without
//! replaying the ones before it.

use crate::experiment::LastBatch;

/// One step of SplitMix64's counter (Steele, Lea and Flood 2014): 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Indices of all `samples` in the order of epoch `epoch`: a Fisher-Yates shuffle (Durstenfeld 1964) whose draws are
/// a pure function of the seed, the epoch and the place.
pub fn epoch_order(seed: u32, epoch: usize, samples: u32) -> Vec<u32> {
    let key = mix(mix(u64::from(seed).wrapping_add(GOLDEN)).wrapping_add(epoch as u64));
    let mut order: Vec<u32> = (0..samples).collect();
    for last in (1..samples).rev() {
        let draw = mix(key.wrapping_add(GOLDEN.wrapping_mul(u64::from(last))));
        // The high half of the product is uniform below last + 1 up to a bias of 2^-32, with no division.
        let other = (u128::from(draw) * (u128::from(last) + 1)) >> 64;
        order.swap(last as usize, other as usize);
    }
    order
}

/// The windows of a run: for each optimizer update its epoch and its samples.
///
/// Every epoch is cut anew, so that each sample is visited at most once in it, and exactly once unless [`LastBatch`]
/// leaves some out. The last window of an epoch may be short and is never filled from the next one.
#[derive(Clone, Debug)]
pub struct Windows {
    seed: u32,
    samples: u32,
    cut: Cut,
    shuffle: bool,
    update: usize,
    /// The epoch `order` belongs to.
    epoch: usize,
    order: Vec<u32>,
}

/// The samples of one optimizer update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<'a> {
    /// Number of the update; the first is 0.
    pub update: usize,
    /// Number of the pass over the data; the first is 0.
    pub epoch: usize,
    /// Whether this is the last update of its epoch.
    pub ends_epoch: bool,
    /// Which samples, 1 to `batch` of them.
    pub indices: &'a [u32],
}

impl Windows {
    /// The windows over `samples` samples, `batch` at a time, from update 0 on. Both are at least 1; 0 is taken as 1.
    pub fn new(
        seed: u32,
        samples: u32,
        batch: usize,
        shuffle: bool,
        last_batch: LastBatch,
    ) -> Self {
        let samples = samples.max(1);
        let mut windows = Self {
            seed,
            samples,
            cut: Cut::new(samples as usize, batch, last_batch),
            shuffle,
            update: 0,
            epoch: 0,
            order: Vec::new(),
        };
        windows.enter_epoch(0);
        windows
    }

    /// The same windows with update `update` next, as after a saved run is taken up again.
    pub fn at(mut self, update: usize) -> Self {
        self.seek(update);
        self
    }

    /// Makes `update` the next update.
    pub fn seek(&mut self, update: usize) {
        self.update = update;
    }

    /// Number of the next update.
    pub fn position(&self) -> usize {
        self.update
    }

    /// Updates in one epoch: [`updates_per_epoch`].
    pub fn updates_per_epoch(&self) -> usize {
        self.cut.windows
    }

    /// The different numbers of samples that the updates of an epoch have.
    pub fn sizes(&self) -> Vec<usize> {
        let last = self.cut.windows - 1;
        let mut sizes: Vec<usize> = [0, last.saturating_sub(1), last]
            .map(|window| {
                let (start, end) = self.cut.bounds(window);
                end - start
            })
            .into();
        sizes.dedup();
        sizes
    }

    /// Updates in `epochs` epochs.
    pub fn n_updates(&self, epochs: usize) -> usize {
        self.updates_per_epoch().saturating_mul(epochs)
    }

    /// Host bytes held for the order of one epoch.
    pub fn bytes(&self) -> u64 {
        (self.order.capacity() * size_of::<u32>()) as u64
    }

    /// The window of the next update; moves on by one. There is always a next one: how long a run is, is not known here.
    pub fn next_window(&mut self) -> Window<'_> {
        let per_epoch = self.updates_per_epoch();
        let update = self.update;
        let epoch = update / per_epoch;
        if epoch != self.epoch {
            self.enter_epoch(epoch);
        }
        self.update += 1;
        let within = update % per_epoch;
        let (start, end) = self.cut.bounds(within);
        Window {
            update,
            epoch,
            ends_epoch: within + 1 == per_epoch,
            indices: self.order.get(start..end).unwrap_or_default(),
        }
    }

    fn enter_epoch(&mut self, epoch: usize) {
        self.epoch = epoch;
        if self.shuffle {
            self.order = epoch_order(self.seed, epoch, self.samples);
        } else if self.order.is_empty() {
            self.order = (0..self.samples).collect();
        }
    }
}

/// Updates in one epoch of `samples` samples, `batch` at a time: what is left over at its end is an update too, unless
/// `last_batch` leaves it out. Never 0, as a batch is cut to the number of samples.
pub fn updates_per_epoch(samples: usize, batch: usize, last_batch: LastBatch) -> usize {
    Cut::new(samples, batch, last_batch).windows
}

/// Samples of the smallest update in an epoch: 1 is too few for a model with batch normalisation.
pub fn smallest_update(samples: usize, batch: usize, last_batch: LastBatch) -> usize {
    let cut = Cut::new(samples, batch, last_batch);
    let length = |window| {
        let (start, end) = cut.bounds(window);
        end - start
    };
    length(cut.windows - 1).min(length(0))
}

/// How the order of an epoch is cut into windows.
#[derive(Clone, Debug)]
struct Cut {
    batch: usize,
    /// Number of windows, at least 1.
    windows: usize,
    /// Where the last window starts.
    last_start: usize,
    /// Where it ends; what comes after is not visited in this epoch.
    end: usize,
}

impl Cut {
    fn new(samples: usize, batch: usize, last_batch: LastBatch) -> Self {
        let samples = samples.max(1);
        let batch = batch.clamp(1, samples);
        let rest = samples % batch;
        // A batch of two has nothing to give: what is left alone is then left out, as no window may grow.
        let dropped = match last_batch {
            LastBatch::Drop => rest,
            LastBatch::Balance if batch == 2 => rest,
            LastBatch::Keep | LastBatch::Balance => 0,
        };
        let end = samples - dropped;
        let windows = end.div_ceil(batch);
        let given = usize::from(last_batch == LastBatch::Balance && batch > 2 && rest == 1);
        Self {
            batch,
            windows,
            last_start: (windows - 1) * batch - given,
            end,
        }
    }

    /// The part of the order that is window number `window`.
    fn bounds(&self, window: usize) -> (usize, usize) {
        let start_of = |window: usize| (window * self.batch).min(self.last_start);
        if window + 1 >= self.windows {
            return (self.last_start, self.end);
        }
        (start_of(window), start_of(window + 1))
    }
}

/// Splits the samples of a window into micro-batches of `micro_rows` samples, of which the last may be short. No sample
/// is left out, and none of the slices is empty.
pub fn micro_batches(indices: &[u32], micro_rows: usize) -> impl ExactSizeIterator<Item = &[u32]> {
    indices.chunks(micro_rows.max(1))
}

/// The finalizer of SplitMix64: every bit of the input changes half the bits of the output.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
