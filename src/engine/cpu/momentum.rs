//! Twin of `shaders/momentum.wgsl`: v = momentum * v + d, w -= lr * v, with d = clip * g + weight_decay * w.

use super::words::{bind, has, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w, v] = bind(bindings)?;
    let nesterov = has(variant, "nesterov");
    let momentum = params.get_f32("momentum")?;
    let weight_decay = params.get_f32("weight_decay")?;
    for i in 0..params.get("n")? {
        let d = load(norm, 1) * load(g, i) + weight_decay * load(w, i);
        let velocity = momentum * load(v, i) + d;
        store(v, i, velocity);
        let direction = if nesterov {
            d + momentum * velocity
        } else {
            velocity
        };
        store(w, i, load(w, i) - step.lr * direction);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// One weight, 1 at first, after each of two gradients of 1 with lr = 0.1, momentum 0.5 and clip factor 0.5.
    fn weights(variant: &str) -> Vec<f32> {
        let words = |values: &[f32]| {
            values
                .iter()
                .map(|v| Cell::new(v.to_bits()))
                .collect::<Vec<_>>()
        };
        let (norm, g, w, v) = (
            words(&[2.0, 0.5]),
            words(&[1.0]),
            words(&[1.0]),
            words(&[0.0]),
        );
        let params = Params::new()
            .with("n", 1)
            .with_f32("momentum", 0.5)
            .with_f32("weight_decay", 0.0);
        let step = Step {
            lr: 0.1,
            ..Step::default()
        };
        let mut weights = Vec::new();
        for _ in 0..2 {
            run(variant, &params, &step, &[&norm, &g, &w, &v]).unwrap();
            weights.push(load(&w, 0));
        }
        weights
    }

    #[test]
    fn steps_are_those_worked_out_by_hand() {
        // v is 0.5, then 0.75.
        let plain = weights("");
        assert!(
            (plain[0] - 0.95).abs() < 1e-6 && (plain[1] - 0.875).abs() < 1e-6,
            "{plain:?}"
        );
        // d + 0.5 v is 0.75, then 0.875.
        let nesterov = weights("nesterov");
        assert!(
            (nesterov[0] - 0.925).abs() < 1e-6 && (nesterov[1] - 0.8375).abs() < 1e-6,
            "{nesterov:?}"
        );
    }
}
