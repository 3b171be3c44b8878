//! The order in which samples are visited: the same on every platform for one seed, and known for any update without
//! replaying the ones before it.

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
/// Every epoch is cut anew, so that each sample is visited exactly once in it; the last window of an epoch may be
/// short and is never filled from the next one.
#[derive(Clone, Debug)]
pub struct Windows {
    seed: u32,
    samples: u32,
    batch: usize,
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
    pub fn new(seed: u32, samples: u32, batch: usize, shuffle: bool) -> Self {
        let samples = samples.max(1);
        let mut windows = Self {
            seed,
            samples,
            batch: batch.clamp(1, samples as usize),
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

    /// Updates in one epoch, the short one at its end included.
    pub fn updates_per_epoch(&self) -> usize {
        (self.samples as usize).div_ceil(self.batch)
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
        let start = within * self.batch;
        let end = (start + self.batch).min(self.order.len());
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
mod tests {
    use super::*;

    fn sorted(mut indices: Vec<u32>) -> Vec<u32> {
        indices.sort_unstable();
        indices
    }

    #[test]
    fn every_epoch_visits_each_sample_exactly_once() {
        for samples in [1, 2, 3, 64, 1_000] {
            for epoch in 0..4 {
                let order = sorted(epoch_order(9, epoch, samples));
                assert_eq!(order, (0..samples).collect::<Vec<_>>());
            }
        }
        assert!(epoch_order(9, 0, 0).is_empty());
    }

    #[test]
    fn the_order_depends_on_seed_and_epoch_and_on_nothing_else() {
        assert_eq!(epoch_order(1, 2, 500), epoch_order(1, 2, 500));
        assert_ne!(epoch_order(1, 2, 500), epoch_order(1, 3, 500));
        assert_ne!(epoch_order(1, 2, 500), epoch_order(2, 2, 500));
        // A seed must not give the order of its neighbour one epoch later.
        assert_ne!(epoch_order(1, 1, 500), epoch_order(2, 0, 500));
    }

    /// Pinned so that another platform or a later version cannot change the results of saved experiments. The numbers
    /// come from the same formula written in Python.
    #[test]
    fn the_order_is_the_one_of_every_platform() {
        assert_eq!(epoch_order(7, 0, 8), [5, 6, 2, 3, 0, 4, 7, 1]);
        assert_eq!(epoch_order(7, 1, 8), [6, 5, 3, 0, 1, 4, 7, 2]);
    }

    /// Each sample comes first equally often: chi-squared over 5 places, 4 degrees of freedom, 99.99 % below 23.5.
    #[test]
    fn no_place_is_preferred() {
        for place in 0..5 {
            let mut counts = [0f64; 5];
            for epoch in 0..5_000 {
                counts[epoch_order(3, epoch, 5)[place] as usize] += 1.0;
            }
            let chi: f64 = counts.iter().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 23.5, "place {place}: {counts:?}");
        }
    }

    #[test]
    fn the_short_batch_is_trained_on_and_never_mixed_with_the_next_epoch() {
        let mut windows = Windows::new(5, 10, 4, true);
        assert_eq!(windows.updates_per_epoch(), 3);
        assert_eq!(windows.n_updates(2), 6);
        for epoch in 0..3 {
            let mut seen = Vec::new();
            for (within, length) in [4, 4, 2].into_iter().enumerate() {
                let window = windows.next_window();
                assert_eq!((window.epoch, window.update), (epoch, 3 * epoch + within));
                assert_eq!(window.indices.len(), length);
                assert_eq!(window.ends_epoch, within == 2);
                seen.extend_from_slice(window.indices);
            }
            assert_eq!(seen, epoch_order(5, epoch, 10));
        }
    }

    #[test]
    fn a_run_taken_up_at_any_update_goes_on_as_if_never_stopped() {
        for shuffle in [false, true] {
            let mut whole = Windows::new(5, 11, 3, shuffle);
            let windows: Vec<Vec<u32>> = (0..20)
                .map(|_| whole.next_window().indices.to_vec())
                .collect();
            for (update, expected) in windows.iter().enumerate() {
                let mut resumed = Windows::new(5, 11, 3, shuffle).at(update);
                assert_eq!(resumed.position(), update);
                assert_eq!(resumed.next_window().indices, expected, "update {update}");
            }
        }
    }

    #[test]
    fn without_shuffling_the_order_is_that_of_the_file() {
        let mut windows = Windows::new(5, 4, 3, false);
        for expected in [&[0, 1, 2][..], &[3], &[0, 1, 2]] {
            assert_eq!(windows.next_window().indices, expected);
        }
    }

    #[test]
    fn a_batch_larger_than_the_set_is_the_set() {
        let mut windows = Windows::new(5, 3, usize::MAX, true);
        assert_eq!(windows.updates_per_epoch(), 1);
        assert_eq!(sorted(windows.next_window().indices.to_vec()), [0, 1, 2]);
        assert_eq!(windows.next_window().epoch, 1);
    }

    #[test]
    fn micro_batches_leave_no_sample_out() {
        for (samples, accumulate, lengths) in [
            (8usize, 4, vec![2, 2, 2, 2]),
            (8, 3, vec![3, 3, 2]),
            (5, 4, vec![2, 2, 1]),
            (3, 8, vec![1, 1, 1]),
            (1, 1, vec![1]),
        ] {
            let indices: Vec<u32> = (0..samples as u32).collect();
            let micro: Vec<&[u32]> =
                micro_batches(&indices, samples.div_ceil(accumulate)).collect();
            assert_eq!(micro.iter().map(|m| m.len()).collect::<Vec<_>>(), lengths);
            assert_eq!(micro.concat(), indices);
            assert!(micro.len() <= accumulate);
        }
    }
}
