//! Twin of `shaders/layer_norm_grad_partials.wgsl`: sums of dy * n and of dy over blocks of rows, n the normalized x.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let (rows, cols) = (params.get("rows")?, params.get("cols")?);
    let blocks = params.get("blocks")?;
    let (dy, x, rstd, d_gamma_partials, mean_and_d_beta) = if has(variant, "rms") {
        let [dy, x, rstd, d_gamma_partials] = bind(bindings)?;
        (dy, x, rstd, d_gamma_partials, None)
    } else {
        let [dy, x, mean, rstd, d_gamma_partials, d_beta_partials] = bind(bindings)?;
        (dy, x, rstd, d_gamma_partials, Some((mean, d_beta_partials)))
    };
    let per = rows.div_ceil(blocks);
    for block in 0..blocks {
        let (mut d_gamma, mut d_beta) = (vec![0f64; cols], vec![0f64; cols]);
        for r in block * per..rows.min((block + 1) * per) {
            let center = mean_and_d_beta.map_or(0.0, |(mean, _)| f64::from(load(mean, r)));
            let scale = f64::from(load(rstd, r));
            for c in 0..cols {
                let d = f64::from(load(dy, r * cols + c));
                d_gamma[c] += d * ((f64::from(load(x, r * cols + c)) - center) * scale);
                d_beta[c] += d;
            }
        }
        for c in 0..cols {
            store(d_gamma_partials, block * cols + c, d_gamma[c] as f32);
            if let Some((_, d_beta_partials)) = mean_and_d_beta {
                store(d_beta_partials, block * cols + c, d_beta[c] as f32);
            }
        }
    }
    Ok(())
}
