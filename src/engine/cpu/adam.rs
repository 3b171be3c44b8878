//! Twin of `shaders/adam.wgsl`: Adam, and AdamW in the variant `decoupled`.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w, m, v] = bind(bindings)?;
    let decoupled = has(variant, "decoupled");
    let (beta1, beta2) = (params.get_f32("beta1")?, params.get_f32("beta2")?);
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
            weight - step.lr * (mean / step.bias1) / ((square / step.bias2).sqrt() + eps),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// One weight after each of the given gradients, with lr = 0.1 and PyTorch's default betas.
    fn weights(variant: &str, weight_decay: f32, gradients: &[f32]) -> Vec<f32> {
        let word = |v: f32| [Cell::new(v.to_bits())];
        let norm = [Cell::new(0), Cell::new(1f32.to_bits())];
        let (w, m, v) = (word(1.0), word(0.0), word(0.0));
        let betas = Params::new()
            .with("n", 1)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999);
        let params = betas
            .with_f32("eps", 1e-8)
            .with_f32("weight_decay", weight_decay);
        let mut weights = Vec::new();
        for (t, g) in (1..).zip(gradients) {
            let bias = |beta: f32| (1.0 - f64::from(beta).powi(t)) as f32;
            let step = Step {
                lr: 0.1,
                bias1: bias(0.9),
                bias2: bias(0.999),
                ..Step::default()
            };
            run(variant, &params, &step, &[&norm, &word(*g), &w, &m, &v]).unwrap();
            weights.push(load(&w, 0));
        }
        weights
    }

    fn assert_near(got: &[f32], expected: &[f32]) {
        let near = got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(
            near && got.len() == expected.len(),
            "got {got:?}, expected {expected:?}"
        );
    }

    #[test]
    fn steps_are_those_worked_out_by_hand() {
        // A constant gradient moves the weight by lr at every step, whatever its size.
        assert_near(&weights("", 0.0, &[0.5, 0.5, 0.5]), &[0.9, 0.8, 0.7]);
        assert_near(&weights("", 0.0, &[-80.0]), &[1.1]);
        // Gradients 1, then -1: m = (0.9 - 1) * 0.1 / 0.19 = -1/19 after its correction, v = 1.
        assert_near(&weights("", 0.0, &[1.0, -1.0]), &[0.9, 0.9 + 0.1 / 19.0]);
        // Decay inside the gradient vanishes in the division at the first step; decoupled decay does not.
        assert_near(&weights("", 0.1, &[0.5]), &[0.9]);
        assert_near(&weights("decoupled", 0.1, &[0.5]), &[0.99 - 0.1]);
    }
}
