//! Twin of `shaders/adafactor.wgsl`: the update of a tensor, clipped as a whole.

use super::words::{bind, has, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

/// Shares of a tensor in the sums of `adafactor_partials`.
pub(super) const SHARES: usize = 64;

/// Is added to every squared gradient, so that no estimate is 0.
pub(super) const TINY: f32 = 1e-30;

/// t^(-0.8) = 1 - beta, the weight of the new square in update t.
pub(super) fn new_share(t: f32) -> f32 {
    f64::from(t).powf(-0.8) as f32
}

/// The second moment of a tensor, whole or in factors.
pub(super) enum Second<'a> {
    Factored {
        r: &'a Words,
        c: &'a Words,
        m: &'a Words,
        rows: usize,
        cols: usize,
    },
    Full(&'a Words),
}

impl Second<'_> {
    /// The root of the estimated square of element e.
    pub(super) fn root(&self, e: usize) -> f32 {
        match self {
            Self::Factored {
                r,
                c,
                m,
                rows,
                cols,
            } => {
                let row = e / cols;
                let b = row / rows;
                let column = load(c, b * cols + e % cols);
                (load(r, row) / load(m, b) * column).sqrt()
            }
            Self::Full(v) => load(v, e).sqrt(),
        }
    }
}

/// The first three buffers, the second moment, and the last buffer: the order of bindings of the two kernels that use
/// the second moment.
///
/// # Errors
/// [`KernelError::Bindings`] if their number is not the one the variant declares, [`KernelError::Param`] if the launch
/// does not set the sizes.
pub(super) fn bind_second<'a>(
    variant: &str,
    params: &Params,
    bindings: &[&'a Words],
) -> Result<([&'a Words; 3], Second<'a>, &'a Words), KernelError> {
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    if has(variant, "factored") {
        let [x, y, z, r, c, m, output] = bind(bindings)?;
        let second = Second::Factored {
            r,
            c,
            m,
            rows,
            cols,
        };
        Ok(([x, y, z], second, output))
    } else {
        let [x, y, z, v, output] = bind(bindings)?;
        Ok(([x, y, z], Second::Full(v), output))
    }
}

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let ([norm, g, partials], second, w) = bind_second(variant, params, bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let n = params.get("n")?;
    let rms = |first: usize| {
        let shares = first..first + SHARES;
        let sum: f64 = shares.map(|i| f64::from(load(partials, i))).sum();
        (sum / n as f64).sqrt() as f32
    };
    let alpha = if params.get("relative")? == 0 {
        step.lr
    } else {
        let t = load(norm, 5);
        let largest = if params.get("warmup_init")? == 0 {
            step.lr
        } else {
            1e-6 * t
        };
        rms(SHARES).max(1e-3) * largest.min(1.0 / t.sqrt())
    };
    let clip = (rms(0) / params.get_f32("threshold")?).max(1.0);
    let kept = 1.0 - alpha * params.get_f32("weight_decay")?;
    for i in 0..n {
        let update = load(norm, 1) * load(g, i) / second.root(i) / clip;
        store(w, i, load(w, i) * kept - alpha * update);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::words::{assert_near, cells, floats, norm_of_skip, norm_of_update};
    use super::super::{adafactor_factors, adafactor_mean, adafactor_partials, adafactor_second};
    use super::*;
    use std::cell::Cell;

    const N: usize = 24;

    /// The weights of a parameter (2, 3, 4) and its state, which is v, or r and c.
    struct Tensor {
        variant: &'static str,
        w: Vec<Cell<u32>>,
        state: Vec<Vec<Cell<u32>>>,
    }

    impl Tensor {
        fn ones(variant: &'static str) -> Self {
            let sizes: &[usize] = if variant == "full" { &[N] } else { &[6, 8] };
            Self {
                variant,
                w: cells(&[1.0; N]),
                state: sizes.iter().map(|n| cells(&vec![0.0; *n])).collect(),
            }
        }

        /// One update of all five kernels. Gives the 128 partials.
        fn update(&self, norm: &Words, g: &Words, lr: f32, settings: Settings) -> Vec<f32> {
            let step = Step {
                lr,
                ..Step::default()
            };
            let size = Params::new().with("rows", 3);
            let matrix = size.clone().with("cols", 4);
            let (m, partials) = (cells(&[0.0; 2]), cells(&[0.0; 2 * SHARES]));
            let mut second: Vec<&Words> = self.state.iter().map(Vec::as_slice).collect();
            if let [r, c] = second[..] {
                let params = matrix.clone().with("batch", 2);
                adafactor_factors::run("", &params, &step, &[norm, g, r, c]).unwrap();
                adafactor_mean::run("", &size.with("batch", 2), &step, &[r, &m]).unwrap();
                second.push(&m);
            } else {
                let params = Params::new().with("n", N);
                adafactor_second::run("", &params, &step, &[norm, g, second[0]]).unwrap();
            }
            let bindings = |third, last| -> Vec<&Words> {
                let first = [norm, g, third].into_iter();
                first.chain(second.iter().copied()).chain([last]).collect()
            };
            let params = matrix.with("n", N);
            let sums = bindings(&self.w, &partials);
            adafactor_partials::run(self.variant, &params, &step, &sums).unwrap();
            run(
                self.variant,
                &settings.on(params),
                &step,
                &bindings(&partials, &self.w),
            )
            .unwrap();
            floats(&partials)
        }
    }

    /// threshold, weight_decay, relative, warmup_init.
    #[derive(Clone, Copy)]
    struct Settings(f32, f32, usize, usize);

    impl Settings {
        fn on(self, params: Params) -> Params {
            params
                .with_f32("threshold", self.0)
                .with_f32("weight_decay", self.1)
                .with("relative", self.2)
                .with("warmup_init", self.3)
        }
    }

    /// The first raw update by an even gradient is 1 everywhere, whatever the size of the gradient.
    #[test]
    fn the_first_update_by_an_even_gradient_is_one_everywhere() {
        for (variant, gradient) in [("factored", 0.1), ("full", 0.1), ("factored", -7e4)] {
            let tensor = Tensor::ones(variant);
            let norm = norm_of_update(1, 1.0, 0.9, 0.999);
            let g = cells(&[gradient; N]);
            let sums = tensor.update(&norm, &g, 0.01, Settings(1.0, 0.0, 0, 0));
            let total = |shares: &[f32]| shares.iter().sum::<f32>();
            assert_near(&[total(&sums[..64]), total(&sums[64..])], &[24.0, 24.0]);
            assert_near(&floats(&tensor.w), &[1.0 - 0.01 * gradient.signum(); N]);
        }
    }

    /// Even gradients of 0.1, clipped by 0.5, then -0.2: in the second update beta = 1 - 2^-0.8 = 0.42565.
    #[test]
    fn the_second_update_weighs_the_squares_with_its_own_beta() {
        for variant in ["factored", "full"] {
            let tensor = Tensor::ones(variant);
            let free = Settings(9.0, 0.0, 0, 0);
            let first = norm_of_update(1, 0.5, 0.9, 0.999);
            tensor.update(&first, &cells(&[0.1; N]), 0.1, free);
            assert_near(&floats(&tensor.w), &[0.9; N]);
            let second = norm_of_update(2, 0.5, 0.9, 0.999);
            tensor.update(&second, &cells(&[-0.2; N]), 0.1, free);
            let square = 0.42565_f32 * 0.0025 + 0.57435 * 0.01;
            assert!((load(&tensor.state[0], 0) / square - 1.0).abs() < 1e-5);
            assert_near(&floats(&tensor.w), &[0.9 + 0.1 * 0.1 / square.sqrt(); N]);
        }
    }

    #[test]
    fn the_step_follows_its_settings() {
        for (settings, lr, expected) in [
            // An update of length 1 is cut to a half.
            (Settings(0.5, 0.0, 0, 0), 0.1, 0.95),
            (Settings(1.0, 0.5, 0, 0), 0.1, 0.85),
            // Weights of length 1: alpha is rho, and 1 / sqrt(t) bounds it.
            (Settings(1.0, 0.0, 1, 0), 0.25, 0.75),
            (Settings(1.0, 0.0, 1, 0), 2.0, 0.5),
            (Settings(1.0, 0.0, 1, 1), 2.0, 1.0 - 4e-6),
        ] {
            let tensor = Tensor::ones("factored");
            // A state that the square of the gradient does not change.
            let state = tensor.state.iter().flatten();
            state.for_each(|word| word.set(0.01f32.to_bits()));
            let norm = norm_of_update(4, 1.0, 0.9, 0.999);
            tensor.update(&norm, &cells(&[0.1; N]), lr, settings);
            assert_near(&floats(&tensor.w), &[expected; N]);
        }
    }

    /// The estimate of a gradient that is a product of a column and a row is exact: every element moves alike.
    #[test]
    fn a_gradient_of_rank_one_is_estimated_exactly() {
        let tensor = Tensor::ones("factored");
        let g: Vec<f32> = (0..N)
            .map(|e| ((e / 4) % 3 + 1) as f32 * (e % 4 + 1) as f32 * (e / 12 + 1) as f32)
            .collect();
        let norm = norm_of_update(1, 1.0, 0.9, 0.999);
        tensor.update(&norm, &cells(&g), 0.1, Settings(1.0, 0.0, 0, 0));
        assert_near(&floats(&tensor.w), &[0.9; N]);
    }

    #[test]
    fn a_skip_changes_nothing_and_zeros_divide_by_nothing() {
        for variant in ["factored", "full"] {
            let tensor = Tensor::ones(variant);
            let before: Vec<Vec<f32>> = tensor.state.iter().map(|s| floats(s)).collect();
            let update = Settings(1.0, 0.1, 1, 0);
            tensor.update(&norm_of_skip(), &cells(&[f32::NAN; N]), 0.1, update);
            let after: Vec<Vec<f32>> = tensor.state.iter().map(|s| floats(s)).collect();
            assert_eq!((floats(&tensor.w), after), (vec![1.0; N], before));
            let norm = norm_of_update(1, 1.0, 0.9, 0.999);
            tensor.update(&norm, &cells(&[0.0; N]), 0.1, Settings(1.0, 0.0, 0, 0));
            assert_eq!(floats(&tensor.w), [1.0; N]);
        }
    }
}
