//! Twin of `shaders/layer_norm.wgsl`: y = (x - mean) * rstd * gamma + beta in every row; rms: y = x * rstd * gamma.
//!
//! It computes in F64 and rounds what it stores.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let eps = f64::from(params.get_f32("eps")?);
    let rms = has(variant, "rms");
    let (x, gamma, y, rstd, beta_and_mean) = if rms {
        let [x, gamma, y, rstd] = bind(bindings)?;
        (x, gamma, y, rstd, None)
    } else {
        let [x, gamma, beta, y, mean, rstd] = bind(bindings)?;
        (x, gamma, y, rstd, Some((beta, mean)))
    };
    for r in 0..rows {
        let row = || (0..cols).map(|c| f64::from(load(x, r * cols + c)));
        let mut center = 0.0;
        if let Some((_, mean)) = beta_and_mean {
            center = row().sum::<f64>() / cols as f64;
            store(mean, r, center as f32);
        }
        let variance = row().map(|x| (x - center).powi(2)).sum::<f64>() / cols as f64;
        let scale = 1.0 / (variance + eps).sqrt();
        store(rstd, r, scale as f32);
        for (c, x) in row().enumerate() {
            let shift = beta_and_mean.map_or(0.0, |(beta, _)| f64::from(load(beta, c)));
            let value = (x - center) * scale * f64::from(load(gamma, c)) + shift;
            store(y, r * cols + c, value as f32);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn words(values: &[f32]) -> Vec<Cell<u32>> {
        values.iter().map(|v| Cell::new(v.to_bits())).collect()
    }

    /// Rows whose mean and deviation are whole numbers, worked out by hand: the oracle's own check.
    #[test]
    fn rows_worked_out_by_hand_come_out_right() {
        let x = words(&[1.0, 3.0, 5.0, 3.0, -2.0, -2.0, 2.0, 2.0]);
        let (gamma, beta) = (words(&[1.0, 2.0, 1.0, 2.0]), words(&[0.0, 0.0, 1.0, 1.0]));
        let (y, mean, rstd) = (
            words(&[f32::NAN; 8]),
            words(&[f32::NAN; 2]),
            words(&[f32::NAN; 2]),
        );
        let params = Params::new().with("rows", 2).with("cols", 4);
        let read = |w: &[Cell<u32>]| (0..w.len()).map(|i| load(w, i)).collect::<Vec<f32>>();

        let bindings: [&Words; 6] = [&x, &gamma, &beta, &y, &mean, &rstd];
        let with_eps = params.clone().with_f32("eps", 2.0);
        run("row", &with_eps, &Step::default(), &bindings).unwrap();
        // Variances 2 and 4; with eps 2 the first row has the deviation 2.
        assert_eq!(read(&mean), [3.0, 0.0]);
        assert_eq!(load(&rstd, 0), 0.5);
        assert_eq!(read(&y)[..4], [-1.0, 0.0, 2.0, 1.0]);

        let bindings: [&Words; 4] = [&x, &gamma, &y, &rstd];
        let with_eps = params.with_f32("eps", 0.0);
        run("row+rms", &with_eps, &Step::default(), &bindings).unwrap();
        assert_eq!(load(&rstd, 1), 0.5);
        assert_eq!(read(&y)[4..], [-1.0, -2.0, 1.0, 2.0]);
    }
}
