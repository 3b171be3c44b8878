//! Twin of `shaders/lion.wgsl`: every weight moves by lr in the direction of a sign.

use super::words::{bind, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w, m] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let (beta1, beta2) = (params.get_f32("beta1")?, params.get_f32("beta2")?);
    let weight_decay = params.get_f32("weight_decay")?;
    for i in 0..params.get("n")? {
        let d = load(norm, 1) * load(g, i);
        let mean = load(m, i);
        let u = sign(beta1 * mean + (1.0 - beta1) * d);
        let kept = load(w, i) * (1.0 - step.lr * weight_decay);
        store(w, i, kept - step.lr * u);
        store(m, i, beta2 * mean + (1.0 - beta2) * d);
    }
    Ok(())
}

/// The sign as WGSL has it: `f32::signum` of 0 is 1.
fn sign(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

#[cfg(test)]
mod tests {
    use super::super::words::{assert_near, cells, floats, norm_of_skip, norm_of_update};
    use super::*;

    #[test]
    fn steps_are_those_worked_out_by_hand_and_a_skip_changes_nothing() {
        let params = Params::new()
            .with("n", 4)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.99)
            .with_f32("weight_decay", 0.5);
        let step = Step {
            lr: 0.1,
            ..Step::default()
        };
        // The old average outweighs the gradient in the third, and there is neither in the last.
        let (g, w) = (cells(&[8.0, -0.02, 8.0, 0.0]), cells(&[1.0, 1.0, 1.0, 2.0]));
        let m = cells(&[0.0, 0.0, -1.0, 0.0]);
        let before = [floats(&w), floats(&m)];
        run("", &params, &step, &[&norm_of_skip(), &g, &w, &m]).unwrap();
        assert_eq!([floats(&w), floats(&m)], before);
        let norm = norm_of_update(1, 0.5, 0.9, 0.99);
        run("", &params, &step, &[&norm, &g, &w, &m]).unwrap();
        assert_near(&floats(&w), &[0.85, 1.05, 1.05, 1.9]);
        assert_near(&floats(&m), &[0.04, -0.0001, -0.95, 0.0]);
    }
}
