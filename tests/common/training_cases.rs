//! The launches of the kernels around the layers: loss, metric, norm of the gradient, optimizers.

use super::compare::{Data, EXACT, roundings};
use super::kernel_cases::{SIZES, STEP, case, with_output};
use super::kernel_harness::{Case, Grid, Operand};
use super::text_cases::row_grid;
use headroom::engine::kernel::{IGNORE, Params, Step};

/// Every case of these kernels.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = norms();
    for n in SIZES {
        cases.extend(optimizers(n));
    }
    for (rows, classes) in [
        (1, 1),
        (1, 10),
        (63, 10),
        (64, 3),
        (65, 17),
        (3, 65),
        (130, 1000),
    ] {
        cases.extend(losses(rows, classes));
    }
    cases
}

fn losses(rows: usize, classes: usize) -> Vec<Case> {
    let mut data = Data::new((rows * 31 + classes) as u64);
    let mut logits = data.reals(rows * classes, 10.0);
    let labels: Vec<u32> = (0..rows)
        .map(|r| {
            if r % 5 == 4 {
                IGNORE
            } else {
                data.word() % classes as u32
            }
        })
        .collect();
    let lse: Vec<f32> = logits
        .chunks(classes)
        .map(|row| row.iter().map(|x| f64::from(*x).exp()).sum::<f64>().ln() as f32)
        .collect();
    let size = Params::new().with("rows", rows).with("classes", classes);
    let label = format!("{rows} rows, {classes} classes");
    let (x, y) = (Operand::input(&logits), Operand::Input(labels.clone()));
    // exp may be off by 3 + 2 |argument| units, 43 for logits from -10 to 10, log by 3, and each addition by one.
    let tolerance = roundings(50 + classes, 1.0);
    let outputs = [
        Operand::Output(rows, tolerance),
        Operand::Output(rows, tolerance),
    ];
    let operands: Vec<Operand> = [x.clone(), y.clone()].into_iter().chain(outputs).collect();
    let mut cases = Vec::new();
    for kernel in ["cross_entropy.row", "cross_entropy.group"] {
        cases.push(Case {
            grid: row_grid(kernel, rows),
            ..case(kernel, label.clone(), size.clone(), operands.clone(), rows)
        });
    }
    for kernel in ["cross_entropy_grad", "cross_entropy_grad.in_place"] {
        let inputs = vec![x.clone(), y.clone(), Operand::input(&lse)];
        // The same exp, of a number up to 1, times the weight of a sample.
        let operands = with_output(kernel, inputs, roundings(64, STEP.inv_samples));
        cases.push(case(
            kernel,
            label.clone(),
            size.clone(),
            operands,
            (rows * classes).div_ceil(4),
        ));
    }

    // Whole numbers, so that many rows have several largest logits. Every other row is labelled with the first of them,
    // and every third row of these holds a NaN, without which it would be a hit.
    logits
        .iter_mut()
        .for_each(|x| *x = x.round().clamp(-3.0, 3.0));
    let mut labels = labels;
    for (r, row) in logits.chunks_mut(classes).enumerate().step_by(2) {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let first = row.iter().position(|x| *x == largest).unwrap();
        labels[r] = first as u32;
        if r % 6 == 4 && first + 1 < classes {
            row[classes - 1] = f32::NAN;
        }
    }
    let operands = vec![
        Operand::input(&logits),
        Operand::Input(labels),
        Operand::Output(rows, EXACT),
    ];
    for k in [1, 2, 5] {
        let (label, size) = (format!("{label} k {k}"), size.clone().with("k", k));
        cases.push(case("correct", label, size, operands.clone(), rows));
    }
    cases
}

fn norms() -> Vec<Case> {
    let mut data = Data::new(4000);
    let mut cases = Vec::new();
    for n in [1, 3, 255, 256, 257, 16_383, 16_384, 16_385, 50_001] {
        let partials = Operand::InOut(data.eighths(192), EXACT);
        cases.push(Case {
            kernel: "norm_partials",
            label: format!("n {n}"),
            params: Params::new().with("n", n).with("offset", 64),
            step: STEP,
            operands: vec![Operand::input(&data.eighths(n)), partials],
            grid: Grid::Groups(64, 1),
        });
    }
    for count in [1, 63, 64, 65, 640] {
        for max_norm in [0.0, 0.5, 1e9] {
            let partials: Vec<f32> = data.reals(count, 5.0).iter().map(|x| x * x).collect();
            cases.push(Case {
                kernel: "norm_finish",
                label: format!("{count} partials, max_norm {max_norm}"),
                params: Params::new().with("count", count),
                step: Step { max_norm, ..STEP },
                // Positive terms: every addition rounds once, the root and the quotient by a few units each.
                operands: vec![
                    Operand::input(&partials),
                    Operand::Output(2, roundings(count + 16, 0.0)),
                ],
                grid: Grid::Groups(1, 1),
            });
        }
    }
    cases
}

fn optimizers(n: usize) -> Vec<Case> {
    let mut data = Data::new(2000 + n as u64);
    let (norm, g, w) = (
        Operand::input(&[3.0, 0.3]),
        data.reals(n, 4.0),
        data.reals(n, 2.0),
    );
    let (m, v) = (
        data.reals(n, 1.0),
        data.reals(n, 1.0)
            .iter()
            .map(|v| v * v + 0.01)
            .collect::<Vec<f32>>(),
    );
    let size = Params::new().with("n", n).with_f32("weight_decay", 0.1);
    // Under ten operations on numbers up to 4; a device may fuse a multiplication with an addition or not.
    let tolerance = roundings(8, 4.0);
    let state = |values: &[f32]| Operand::InOut(values.to_vec(), tolerance);
    let first = [norm, Operand::input(&g), state(&w)];
    let mut cases = vec![case(
        "sgd",
        format!("n {n}"),
        size.clone(),
        first.to_vec(),
        n.div_ceil(4),
    )];
    for kernel in ["momentum", "momentum.nesterov"] {
        let operands = first.iter().cloned().chain([state(&m)]).collect();
        cases.push(case(
            kernel,
            format!("n {n}"),
            size.clone().with_f32("momentum", 0.9),
            operands,
            n.div_ceil(4),
        ));
    }
    for kernel in ["adam", "adam.decoupled"] {
        let operands = first
            .iter()
            .cloned()
            .chain([state(&m), state(&v)])
            .collect();
        let params = size
            .clone()
            .with_f32("beta1", 0.9)
            .with_f32("beta2", 0.999)
            .with_f32("eps", 0.01);
        cases.push(case(
            kernel,
            format!("n {n}"),
            params,
            operands,
            n.div_ceil(4),
        ));
    }
    cases
}
