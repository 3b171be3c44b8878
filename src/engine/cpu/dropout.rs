//! Twin of `shaders/dropout.wgsl`: y = 0 where the element's random word is below the threshold, else x * keep_scale.

use super::words::{load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = operands(variant, bindings)?;
    let (node, threshold) = (params.get("node")? as u32, params.get("threshold")? as u32);
    let keep_scale = params.get_f32("keep_scale")?;
    let key = [step.update, step.micro, node]
        .into_iter()
        .fold(pcg(step.seed), |key, part| pcg(key ^ part));
    for i in 0..params.get("n")? {
        let dropped = pcg(key ^ pcg(i as u32)) < threshold;
        store(
            y,
            i,
            if dropped {
                0.0
            } else {
                load(x, i) * keep_scale
            },
        );
    }
    Ok(())
}

/// The PCG-RXS-M-XS hash of 32 bits: Jarzynski and Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020.
fn pcg(v: u32) -> u32 {
    let state = v.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The mask a step draws: true where an element is dropped.
    fn mask(step: Step, node: usize, probability: f64, n: usize) -> Vec<bool> {
        let y = vec![Cell::new(1f32.to_bits()); n];
        let threshold = (probability * 2f64.powi(32)) as usize;
        let params = Params::new()
            .with("n", n)
            .with("node", node)
            .with("threshold", threshold)
            .with_f32("keep_scale", 2.0);
        run("in_place", &params, &step, &[&y]).unwrap();
        y.iter().map(|w| w.get() == 0).collect()
    }

    #[test]
    fn the_share_of_dropped_elements_is_the_probability() {
        let n = 100_000;
        for p in [0.1, 0.5, 0.9] {
            let dropped = mask(
                Step {
                    seed: 7,
                    ..Step::default()
                },
                3,
                p,
                n,
            )
            .iter()
            .filter(|d| **d)
            .count() as f64;
            // Four standard deviations of a binomial count.
            let bound = 4.0 * (p * (1.0 - p) * n as f64).sqrt();
            assert!(
                (dropped - p * n as f64).abs() < bound,
                "p = {p}: {dropped} of {n} dropped"
            );
        }
    }

    #[test]
    fn every_part_of_the_key_changes_the_mask_and_no_mask_is_another_one_shifted() {
        let base = Step {
            seed: 7,
            update: 5,
            micro: 1,
            ..Step::default()
        };
        let n = 4096;
        let first = mask(base, 3, 0.5, n);
        assert_eq!(first, mask(base, 3, 0.5, n));
        let others = [
            mask(Step { seed: 8, ..base }, 3, 0.5, n),
            mask(Step { update: 6, ..base }, 3, 0.5, n),
            mask(Step { micro: 2, ..base }, 3, 0.5, n),
            mask(base, 4, 0.5, n),
        ];
        for (which, other) in others.iter().enumerate() {
            for shift in 0..64 {
                let pairs = first[shift..].iter().zip(other);
                let equal =
                    pairs.clone().filter(|(a, b)| a == b).count() as f64 / pairs.count() as f64;
                // Independent masks agree in half of their elements; five standard deviations are 0.04.
                assert!(
                    (equal - 0.5).abs() < 0.04,
                    "mask {which} shifted by {shift} agrees in {equal}"
                );
            }
        }
    }
}
