//! Twin of `shaders/adam.wgsl`: Adam, and AdamW in the variant `decoupled`.

use super::words::{bind, has, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w, m, v] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let decoupled = has(variant, "decoupled");
    let (beta1, beta2) = (params.get_f32("beta1")?, params.get_f32("beta2")?);
    let (bias1, bias2) = (load(norm, 3), load(norm, 4));
    let eps = params.get_f32("eps")?;
    let weight_decay = params.get_f32("weight_decay")?;
    for i in 0..params.get("n")? {
        let mut weight = load(w, i);
        let mut d = load(norm, 1) * load(g, i);
        if decoupled {
            weight *= 1.0 - step.lr * weight_decay;
        } else {
            d += weight_decay * weight;
        }
        let mean = beta1 * load(m, i) + (1.0 - beta1) * d;
        let square = beta2 * load(v, i) + (1.0 - beta2) * d * d;
        store(m, i, mean);
        store(v, i, square);
        store(
            w,
            i,
            weight - step.lr * (mean / bias1) / ((square / bias2).sqrt() + eps),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::words::{assert_near, cells, floats, norm_of_skip, norm_of_update};
    use super::*;

    fn params(weight_decay: f32) -> Params {
        let betas = Params::new()
            .with("n", 1)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999);
        betas
            .with_f32("eps", 1e-8)
            .with_f32("weight_decay", weight_decay)
    }

    const STEP: Step = Step {
        seed: 0,
        update: 0,
        micro: 0,
        rows: 0,
        inv_samples: 1.0,
        lr: 0.1,
        // The twin must not read these two.
        bias1: f32::NAN,
        bias2: f32::NAN,
        max_norm: 0.0,
    };

    /// One weight after each of the given gradients, with lr = 0.1 and PyTorch's default betas.
    fn weights(variant: &str, weight_decay: f32, first: f32, gradients: &[f32]) -> Vec<f32> {
        let (w, m, v) = (cells(&[first]), cells(&[0.0]), cells(&[0.0]));
        let mut weights = Vec::new();
        for (t, g) in (1..).zip(gradients) {
            let norm = norm_of_update(t, 1.0, 0.9, 0.999);
            let buffers: [&Words; 5] = [&norm, &cells(&[*g]), &w, &m, &v];
            run(variant, &params(weight_decay), &STEP, &buffers).unwrap();
            weights.push(load(&w, 0));
        }
        weights
    }

    #[test]
    fn steps_are_those_worked_out_by_hand() {
        // A constant gradient moves the weight by lr at every step, whatever its size.
        assert_near(&weights("", 0.0, 1.0, &[0.5, 0.5, 0.5]), &[0.9, 0.8, 0.7]);
        assert_near(&weights("", 0.0, 1.0, &[-80.0]), &[1.1]);
        // Gradients 1, then -1: m = (0.9 - 1) * 0.1 / 0.19 = -1/19 after its correction, v = 1.
        assert_near(
            &weights("", 0.0, 1.0, &[1.0, -1.0]),
            &[0.9, 0.9 + 0.1 / 19.0],
        );
        // Decay inside the gradient vanishes in the division at the first step; decoupled decay does not.
        assert_near(&weights("", 0.1, 1.0, &[0.5]), &[0.9]);
        assert_near(&weights("decoupled", 0.1, 1.0, &[0.5]), &[0.99 - 0.1]);
    }

    /// eps is added after the correction of the bias: a first gradient as large as eps moves the weight by lr / 2.
    #[test]
    fn eps_is_as_large_as_the_corrected_root() {
        let moved = weights("", 0.0, 0.0, &[1e-8])[0];
        assert!((moved + 0.05).abs() < 1e-6, "{moved}");
    }

    /// lr 0.1 and decay 0.1 with no gradient: AdamW takes 1 % off, while Adam takes the decay for a gradient and moves
    /// by lr.
    #[test]
    fn decay_is_decoupled_in_one_variant_only() {
        assert_near(&weights("decoupled", 0.1, 2.0, &[0.0]), &[1.98]);
        assert_near(&weights("", 0.1, 2.0, &[0.0]), &[1.9]);
    }

    #[test]
    fn a_skip_changes_nothing() {
        for variant in ["", "decoupled"] {
            let (w, m, v) = (cells(&[1.5]), cells(&[0.25]), cells(&[0.125]));
            let buffers: [&Words; 5] = [&norm_of_skip(), &cells(&[f32::NAN]), &w, &m, &v];
            run(variant, &params(0.1), &STEP, &buffers).unwrap();
            assert_eq!(
                [floats(&w), floats(&m), floats(&v)].concat(),
                [1.5, 0.25, 0.125]
            );
        }
    }
}
