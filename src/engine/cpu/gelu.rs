//! Twin of `shaders/gelu.wgsl`, with the slopes that `gelu_grad` needs: the forms of `shaders/lib/gelu.wgsl` in F64,
//! the tanh form as PyTorch writes it.

use super::words::{has, load, operands, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [x, y] = operands(variant, bindings)?;
    let gelu = if has(variant, "exact") {
        gelu_exact
    } else {
        gelu_tanh
    };
    for i in 0..params.get("n")? {
        store(y, i, gelu(load(x, i).into()) as f32);
    }
    Ok(())
}

fn gelu_exact(x: f64) -> f64 {
    x * normal_cdf(x)
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + tanh_argument(x).tanh())
}

/// d/dx of the exact form.
pub(super) fn exact_slope(x: f64) -> f64 {
    let density = (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2) * (-0.5 * x * x).exp();
    normal_cdf(x) + x * density
}

/// d/dx of the tanh form. The argument is bounded where the slope has long been 0 or 1 to an F32.
pub(super) fn tanh_slope(x: f64) -> f64 {
    let x = x.clamp(-20.0, 20.0);
    let t = tanh_argument(x).tanh();
    let slope_of_argument = (2.0 / PI).sqrt() * (1.0 + 3.0 * CUBIC * x * x);
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope_of_argument
}

const CUBIC: f64 = 0.044715;

fn tanh_argument(x: f64) -> f64 {
    (2.0 / PI).sqrt() * (x + CUBIC * x.powi(3))
}

fn normal_cdf(x: f64) -> f64 {
    let tail = 0.5 * erfc_positive(x.abs() * FRAC_1_SQRT_2);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// 1 - erf(z) for z >= 0, |error| <= 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.26.
fn erfc_positive(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let poly = t
        * (0.254829592
            + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    poly * (-z * z).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its power series, which converges everywhere and is exact to 1e-9 up to |z| = 4 in F64.
    fn erf_series(z: f64) -> f64 {
        let mut term = z;
        let mut sum = z;
        for k in 1..200 {
            term *= -z * z / f64::from(k);
            sum += term / f64::from(2 * k + 1);
        }
        FRAC_2_SQRT_PI * sum
    }

    #[test]
    fn the_polynomial_is_as_near_to_erf_as_its_source_says() {
        let worst = (0..=4000)
            .map(|i| f64::from(i) * 1e-3)
            .map(|z| (1.0 - erfc_positive(z) - erf_series(z)).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst <= 1.5e-7, "worst error {worst}");
    }

    #[test]
    fn values_are_those_of_the_two_definitions() {
        // Python: [x / 2 * (1 + erf(x / sqrt(2)))], [x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))], with
        // erf from its math module, at -3, -1, 0.5, 2.
        let x = [-3.0, -1.0, 0.5, 2.0];
        let exact = [
            -0.004049694095,
            -0.158655253931,
            0.345731230637,
            1.954499736104,
        ];
        let tanh = [
            -0.003637392081,
            -0.158808009392,
            0.345714009990,
            1.954597694088,
        ];
        for i in 0..4 {
            assert!(
                (gelu_exact(x[i]) - exact[i]).abs() < 3e-7,
                "exact at {}: {}",
                x[i],
                gelu_exact(x[i])
            );
            assert!(
                (gelu_tanh(x[i]) - tanh[i]).abs() < 1e-6,
                "tanh at {}: {}",
                x[i],
                gelu_tanh(x[i])
            );
        }
    }

    #[test]
    fn slopes_are_the_derivatives() {
        // Differences of the definitions; past 4 the series for erf no longer has the digits.
        let exact = |x: f64| 0.5 * x * (1.0 + erf_series(x * FRAC_1_SQRT_2));
        let difference = |f: &dyn Fn(f64) -> f64, x: f64| (f(x + 1e-4) - f(x - 1e-4)) / 2e-4;
        for i in -40..=40 {
            let x = f64::from(i) * 0.1;
            let (tanh_off, exact_off) = (
                tanh_slope(x) - difference(&gelu_tanh, x),
                exact_slope(x) - difference(&exact, x),
            );
            assert!(tanh_off.abs() < 1e-7, "tanh at {x}: off by {tanh_off}");
            assert!(exact_off.abs() < 3e-7, "exact at {x}: off by {exact_off}");
        }
    }
}
