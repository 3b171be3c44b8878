//! Tests of the order of samples, and of how it is cut.

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
    let mut windows = Windows::new(5, 10, 4, true, LastBatch::Keep);
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
        let mut whole = Windows::new(5, 11, 3, shuffle, LastBatch::Keep);
        let windows: Vec<Vec<u32>> = (0..20)
            .map(|_| whole.next_window().indices.to_vec())
            .collect();
        for (update, expected) in windows.iter().enumerate() {
            let mut resumed = Windows::new(5, 11, 3, shuffle, LastBatch::Keep).at(update);
            assert_eq!(resumed.position(), update);
            assert_eq!(resumed.next_window().indices, expected, "update {update}");
        }
    }
}

#[test]
fn without_shuffling_the_order_is_that_of_the_file() {
    let mut windows = Windows::new(5, 4, 3, false, LastBatch::Keep);
    for expected in [&[0, 1, 2][..], &[3], &[0, 1, 2]] {
        assert_eq!(windows.next_window().indices, expected);
    }
}

#[test]
fn a_batch_larger_than_the_set_is_the_set() {
    let mut windows = Windows::new(5, 3, usize::MAX, true, LastBatch::Keep);
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
        let micro: Vec<&[u32]> = micro_batches(&indices, samples.div_ceil(accumulate)).collect();
        assert_eq!(micro.iter().map(|m| m.len()).collect::<Vec<_>>(), lengths);
        assert_eq!(micro.concat(), indices);
        assert!(micro.len() <= accumulate);
    }
}

/// The lengths of the windows of an epoch, which must have no sample twice, and how many samples they have in all.
fn lengths(samples: usize, batch: usize, last_batch: LastBatch) -> (Vec<usize>, usize) {
    let per_epoch = updates_per_epoch(samples, batch, last_batch);
    let mut windows = Windows::new(3, samples as u32, batch, true, last_batch);
    assert_eq!(windows.updates_per_epoch(), per_epoch);
    for epoch in 0..2 {
        let mut lengths = Vec::new();
        let mut seen = Vec::new();
        for within in 0..per_epoch {
            let window = windows.next_window();
            assert_eq!(
                (window.epoch, window.ends_epoch),
                (epoch, within + 1 == per_epoch)
            );
            lengths.push(window.indices.len());
            seen.extend_from_slice(window.indices);
        }
        let visited = seen.len();
        assert_eq!(seen, epoch_order(3, epoch, samples as u32)[..visited]);
        if epoch == 1 {
            let smallest = lengths.iter().min().copied();
            assert_eq!(smallest, Some(smallest_update(samples, batch, last_batch)));
            return (lengths, visited);
        }
    }
    unreachable!("the second epoch returns")
}

#[test]
fn what_is_left_over_is_kept_dropped_or_balanced() {
    use LastBatch::{Balance, Drop, Keep};
    for (samples, batch, last_batch, expected) in [
        (10, 4, Keep, vec![4, 4, 2]),
        (10, 4, Drop, vec![4, 4]),
        (10, 4, Balance, vec![4, 4, 2]),
        (9, 4, Keep, vec![4, 4, 1]),
        (9, 4, Drop, vec![4, 4]),
        (9, 4, Balance, vec![4, 3, 2]),
        (8, 4, Balance, vec![4, 4]),
        (4, 3, Balance, vec![2, 2]),
        (5, 2, Balance, vec![2, 2]),
        (3, 2, Balance, vec![2]),
        (3, 1, Balance, vec![1, 1, 1]),
        // A batch that is never full is the set, and not dropped to nothing.
        (3, 8, Drop, vec![3]),
        (1, 8, Balance, vec![1]),
        (3, 2, Drop, vec![2]),
    ] {
        let (found, _) = lengths(samples, batch, last_batch);
        assert_eq!(found, expected, "{samples} by {batch}, {last_batch:?}");
    }
}

/// DL-15: a batch of one sample has no variance, so batch normalisation cannot learn from it.
#[test]
fn no_batch_of_a_balanced_epoch_holds_a_single_sample() {
    for samples in 2..60 {
        for batch in 2..=samples + 1 {
            let (found, visited) = lengths(samples, batch, LastBatch::Balance);
            let case = format!("{samples} by {batch}: {found:?}");
            assert!(
                found.iter().all(|&length| (2..=batch).contains(&length)),
                "{case}"
            );
            // Only a batch of two, which has nothing to give, leaves a sample out.
            let left_out = usize::from(batch == 2 && samples % 2 == 1);
            assert_eq!(visited, samples - left_out, "{case}");
        }
    }
    assert_eq!(smallest_update(1_000, 3, LastBatch::Keep), 1);
    assert_eq!(smallest_update(1_000, 3, LastBatch::Balance), 2);
}
