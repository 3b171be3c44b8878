//! Twin of `shaders/loss_scale.wgsl`: the loss scale after an update, and the counts and biases of those really made.

use super::words::{bind, is_skipped, load, store};
use crate::engine::kernel::{KernelError, Params, Step, Words};

pub(super) fn run(
    _variant: &str,
    params: &Params,
    _step: &Step,
    bindings: &[&Words],
) -> Result<(), KernelError> {
    let [norm, state] = bind(bindings)?;
    let growth_every = params.get("growth_every")?;
    let betas = [params.get_f32("beta1")?, params.get_f32("beta2")?];
    let (floor, ceiling) = (params.get_f32("floor")?, params.get_f32("ceiling")?);
    let add = |i: usize, value: f32| store(state, i, load(state, i) + value);
    let scale = load(state, 0);
    if is_skipped(norm) {
        store(state, 0, (0.5 * scale).max(floor));
        store(state, 1, 0.0);
        add(3, 1.0);
        add(6, 1.0);
        return Ok(());
    }
    add(1, 1.0);
    add(2, 1.0);
    for (i, beta) in (4..).zip(betas) {
        add(i, (1.0 - load(state, i)) * (1.0 - beta));
    }
    store(state, 6, 0.0);
    if load(state, 1) >= growth_every as f32 {
        store(state, 0, (2.0 * scale).min(ceiling));
        store(state, 1, 0.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::words::{cells, floats, norm_of_skip, norm_of_update};
    use super::*;
    use std::cell::Cell;

    fn fresh(scale: f32) -> Vec<Cell<u32>> {
        cells(&[scale, 0.0, 0.0, 0.0, 1.0 - 0.9, 1.0 - 0.999, 0.0, 0.0])
    }

    fn after(state: &Words, skip: bool) -> Vec<f32> {
        let params = Params::new()
            .with("growth_every", 3)
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999)
            .with_f32("floor", 1.0)
            .with_f32("ceiling", 131_072.0);
        let norm = if skip {
            norm_of_skip()
        } else {
            norm_of_update(1, 1.0, 0.9, 0.999)
        };
        run("", &params, &Step::default(), &[&norm, state]).unwrap();
        floats(state)
    }

    #[test]
    fn sixteen_skips_bring_the_scale_from_65536_to_its_floor() {
        let state = fresh(65536.0);
        for skips in 1..=16 {
            let now = after(&state, true);
            assert_eq!(now[0], 65536.0 / 2f32.powi(skips));
            assert_eq!([now[2], now[3], now[6]], [0.0, skips as f32, skips as f32]);
        }
        assert_eq!(after(&state, true)[0], 1.0, "the floor holds");
        let biases = [load(&state, 4), load(&state, 5)];
        assert_eq!(biases, [1.0 - 0.9f32, 1.0 - 0.999f32], "no update was made");
    }

    #[test]
    fn three_good_updates_in_a_row_double_the_scale_up_to_its_ceiling() {
        let state = fresh(65536.0);
        let scales: Vec<f32> = [false, false, true, false, false, false, false]
            .map(|skip| after(&state, skip)[0])
            .into();
        let (full, half) = (65536.0, 32768.0);
        assert_eq!(scales, [full, full, half, half, half, full, full]);
        let scales: Vec<f32> = (0..6).map(|_| after(&state, false)[0]).collect();
        let top = 131_072.0;
        assert_eq!(scales, [full, top, top, top, top, top]);
        assert_eq!(load(&state, 2), 12.0);
    }

    #[test]
    fn the_biases_are_those_of_the_updates_made() {
        let state = fresh(1024.0);
        for made in 1..1000 {
            let now = after(&state, false);
            for (i, beta) in [(4, 0.9f32), (5, 0.999f32)] {
                let bias = (1.0 - f64::from(beta).powi(made + 1)) as f32;
                assert!((now[i] / bias - 1.0).abs() < 1e-5, "{} for {bias}", now[i]);
            }
            let _ = after(&state, true);
        }
    }
}
