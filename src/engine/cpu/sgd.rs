//! Twin of `shaders/sgd.wgsl`: w -= lr * (clip * g + weight_decay * w).

use super::words::{bind, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, g, w] = bind(bindings)?;
    if is_skipped(norm) {
        return Ok(());
    }
    let weight_decay = params.get_f32("weight_decay")?;
    for i in 0..params.get("n")? {
        let d = load(norm, 1) * load(g, i) + weight_decay * load(w, i);
        store(w, i, load(w, i) - step.lr * d);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::words::{assert_near, cells, floats, norm_of_skip, norm_of_update};
    use super::*;

    #[test]
    fn steps_are_those_worked_out_by_hand_and_a_skip_changes_nothing() {
        let params = Params::new().with("n", 1).with_f32("weight_decay", 0.5);
        let step = Step {
            lr: 0.1,
            ..Step::default()
        };
        let (g, w) = (cells(&[4.0]), cells(&[2.0]));
        run("", &params, &step, &[&norm_of_skip(), &g, &w]).unwrap();
        assert_eq!(floats(&w), [2.0]);
        // d = 0.25 * 4 + 0.5 * 2 = 2.
        let norm = norm_of_update(1, 0.25, 0.9, 0.999);
        run("", &params, &step, &[&norm, &g, &w]).unwrap();
        assert_near(&floats(&w), &[1.8]);
    }
}
