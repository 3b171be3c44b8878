//! Cases of the kernels for row norms, embeddings and what else a language model needs.

use super::compare::{Data, EXACT, Tolerance, roundings};
use super::kernel_cases::{ACCUMULATE, STEP, case, with_output};
use super::kernel_harness::{Case, Grid, Operand};
use headroom::engine::kernel::{KERNELS, Params, Step, fold_groups};

/// Rows and columns: one, the borders of a workgroup on each side, multiples of 4 for the variants vec4, and neither.
const MATRICES: [(usize, usize); 14] = [
    (1, 1),
    (1, 4),
    (2, 3),
    (1, 257),
    (257, 1),
    (63, 65),
    (64, 64),
    (65, 63),
    (3, 1025),
    (5, 1024),
    (130, 8),
    (66, 100),
    (7, 260),
    (1, 252),
];

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols) in MATRICES {
        for kernel in variants("layer_norm", cols) {
            cases.push(norm(kernel, (rows, cols), Rows::Spread));
            cases.push(norm(kernel, (rows, cols), Rows::FarFromZero));
            cases.push(norm(kernel, (rows, cols), Rows::Exact));
        }
        for kernel in variants("layer_norm_grad", cols) {
            cases.push(norm_grad(kernel, (rows, cols)));
        }
        for kernel in variants("layer_norm_grad_partials", cols) {
            for blocks in [1, 2, 5, rows + 1] {
                cases.extend(norm_grad_partials(kernel, (rows, cols), blocks));
            }
        }
        for kernel in variants("swiglu", cols) {
            cases.push(swiglu(kernel, (rows, cols)));
        }
        for kernel in variants("swiglu_grad", cols) {
            cases.push(swiglu_grad(kernel, (rows, cols)));
        }
        for valid in [0, 1, rows.div_ceil(2), rows, rows + 3] {
            cases.push(pick_row((rows, cols), valid));
        }
        for vocabulary in [1, 11, 300] {
            cases.extend(embeddings((rows, cols), vocabulary));
        }
    }
    cases
}

/// The variants of a kernel that rows of `cols` elements allow.
fn variants(stem: &'static str, cols: usize) -> impl Iterator<Item = &'static str> {
    let of_stem = KERNELS.iter().filter(move |k| k.stem == stem);
    of_stem
        .map(|k| k.name)
        .filter(move |name| !name.contains("vec4") || cols.is_multiple_of(4))
}

/// The dispatch of a kernel that gives each row to an invocation or to a workgroup.
pub(crate) fn row_grid(kernel: &str, rows: usize) -> Grid {
    if kernel.contains("group") {
        let [x, y, _] = fold_groups(rows);
        Grid::Groups(x as usize, y as usize)
    } else {
        Grid::Invocations(rows)
    }
}

/// Invocations of a kernel that takes an element at a time, or four in its variant vec4.
fn elements(kernel: &str, count: usize) -> usize {
    if kernel.contains("vec4") {
        count / 4
    } else {
        count
    }
}

fn launch(
    kernel: &'static str,
    label: String,
    params: Params,
    operands: Vec<Operand>,
    grid: Grid,
) -> Case {
    Case {
        kernel,
        label,
        params,
        step: STEP,
        operands,
        grid,
    }
}

/// What stands in the rows of a case of layer_norm.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows {
    /// Real numbers from -3 to 3.
    Spread,
    /// A mean of 1000 and a deviation of about 0.01: what is left of the rows after a careless subtraction is noise.
    FarFromZero,
    /// Multiples of 1/8, so that the mean of a power of two of them is exact.
    Exact,
}

/// A case of layer_norm.
pub(crate) fn norm(kernel: &'static str, (rows, cols): (usize, usize), content: Rows) -> Case {
    let mut data = Data::new((rows * 6007 + cols) as u64);
    let (x, eps): (Vec<f32>, f32) = match content {
        Rows::Spread => (data.reals(rows * cols, 3.0), 1e-5),
        Rows::FarFromZero => {
            let offsets = data.reals(rows * cols, 0.02);
            // Small enough to leave the deviation its place, large enough to keep a row of one element finite.
            (offsets.iter().map(|x| 1000.0 + x).collect(), 1e-9)
        }
        Rows::Exact => (data.eighths(rows * cols), 0.5),
    };
    let gamma = Operand::input(&data.reals(cols, 2.0));
    let beta = Operand::input(&data.reals(cols, 1.0));

    // A sum of n terms that are rounded at most half a unit at every addition is off by n^2 / 4 units of their size, its
    // mean by n / 4; a deviation, a root of such a mean, by half of that. The rest are the few operations around it.
    let count = cols / 4 + 10;
    // Elements of a row are at most 2 deviations of evenly spread numbers from their mean, and gamma at most 2; the rows
    // of two and three are nearer to each other, and their deviation smaller than the spread.
    let y = roundings(count, 6.0);
    let mean = match content {
        Rows::Spread => roundings(count, 3.0),
        // The mean is taken of distances of up to 0.04; after that it is rounded once to what an F32 of its size holds.
        Rows::FarFromZero => roundings(1, 0.0),
        Rows::Exact if cols.is_power_of_two() => EXACT,
        Rows::Exact => roundings(count, 2.0),
    };
    let rstd = roundings(count, 0.0);

    let (x, params) = (Operand::input(&x), Params::new());
    let params = params.with("rows", rows).with("cols", cols);
    let operands = if kernel.contains("rms") {
        let outputs = [Operand::Output(rows * cols, y), Operand::Output(rows, rstd)];
        [x, gamma].into_iter().chain(outputs).collect()
    } else {
        let outputs = [
            Operand::Output(rows * cols, y),
            Operand::Output(rows, mean),
            Operand::Output(rows, rstd),
        ];
        [x, gamma, beta].into_iter().chain(outputs).collect()
    };
    launch(
        kernel,
        format!("{rows}x{cols} {content:?}"),
        params.with_f32("eps", eps),
        operands,
        row_grid(kernel, rows),
    )
}

/// The inputs of the two backward kernels: dy, x, gamma, and mean and rstd as layer_norm would leave them.
fn norm_grad_inputs(rms: bool, (rows, cols): (usize, usize)) -> [Operand; 5] {
    let mut data = Data::new((rows * 7013 + cols) as u64);
    let x = data.reals(rows * cols, 3.0);
    let dy = data.reals(rows * cols, 1.0);
    let gamma = data.reals(cols, 2.0);
    let (mut mean, mut rstd) = (Vec::new(), Vec::new());
    for row in x.chunks(cols) {
        let n = cols as f64;
        let of_row = || row.iter().map(|x| f64::from(*x));
        let center = if rms { 0.0 } else { of_row().sum::<f64>() / n };
        let variance = of_row().map(|x| (x - center).powi(2)).sum::<f64>() / n;
        mean.push(center as f32);
        rstd.push((1.0 / (variance + 0.01).sqrt()) as f32);
    }
    [&dy, &x, &gamma, &mean, &rstd].map(|values| Operand::input(values))
}

fn norm_grad(kernel: &'static str, (rows, cols): (usize, usize)) -> Case {
    let rms = kernel.contains("rms");
    let [dy, x, gamma, mean, rstd] = norm_grad_inputs(rms, (rows, cols));
    let inputs = if rms {
        vec![dy, x, gamma, rstd]
    } else {
        vec![dy, x, gamma, mean, rstd]
    };
    // As for layer_norm: a mean of n numbers, here of up to 4 each. rstd is about 0.6 in a row of many elements, and up
    // to 10 in a row of few.
    let tolerance = roundings(cols / 4 + 10, if cols < 8 { 20.0 } else { 2.0 });
    let operands = with_output(kernel, inputs, tolerance);
    let params = Params::new().with("rows", rows).with("cols", cols);
    let label = format!("{rows}x{cols}");
    launch(kernel, label, params, operands, row_grid(kernel, rows))
}

/// A case of real numbers, and one whose sums are exact: it shows a row that is lost or counted twice.
fn norm_grad_partials(
    kernel: &'static str,
    (rows, cols): (usize, usize),
    blocks: usize,
) -> [Case; 2] {
    let rms = kernel.contains("rms");
    let mut data = Data::new((rows * 8009 + cols) as u64);
    let powers: Vec<f32> = (0..rows)
        .map(|_| f32::from(data.word() as u8 % 3) / 2.0)
        .collect();
    let exact = [
        Operand::input(&data.eighths(rows * cols)),
        Operand::input(&data.eighths(rows * cols)),
        Operand::input(&data.eighths(rows)),
        Operand::input(&powers),
    ];
    let [dy, x, _, mean, rstd] = norm_grad_inputs(rms, (rows, cols));
    let count = rows.div_ceil(blocks);
    // Each addition rounds a sum of up to `count` terms of up to 2, on the average half of that.
    let rounded = roundings(count / 2 + 4, 2.0 * count as f32);
    [
        ("exact", exact, EXACT),
        ("rounded", [dy, x, mean, rstd], rounded),
    ]
    .map(|(what, [dy, x, mean, rstd], tolerance)| {
        let output = || Operand::Output(blocks * cols, tolerance);
        let operands = if rms {
            vec![dy, x, rstd, output()]
        } else {
            vec![dy, x, mean, rstd, output(), output()]
        };
        let params = Params::new().with("rows", rows).with("cols", cols);
        case(
            kernel,
            format!("{rows}x{cols} in {blocks} blocks, {what}"),
            params.with("blocks", blocks),
            operands,
            elements(kernel, blocks * cols),
        )
    })
}

/// Gates from -8 to 8, and some from which exp overflows or vanishes.
fn gates_and_ups(data: &mut Data, rows: usize, cols: usize) -> Vec<f32> {
    let mut x = data.reals(rows * 2 * cols, 8.0);
    for (row, far) in x
        .chunks_mut(2 * cols)
        .zip([200.0, -200.0, 0.0, 85.0, -85.0])
    {
        row[cols - 1] = far;
    }
    x
}

/// exp may be off by 3 + 2 |argument| units, 19 for gates up to 8, and there are some operations more.
fn gate_roundings(size: f32) -> Tolerance {
    roundings(26, size)
}

fn swiglu(kernel: &'static str, (rows, cols): (usize, usize)) -> Case {
    let mut data = Data::new((rows * 9001 + cols) as u64);
    let x = gates_and_ups(&mut data, rows, cols);
    case(
        kernel,
        format!("{rows}x{cols}"),
        Params::new().with("rows", rows).with("cols", cols),
        vec![
            Operand::input(&x),
            Operand::Output(rows * cols, gate_roundings(1e-6)),
        ],
        elements(kernel, rows * cols),
    )
}

fn swiglu_grad(kernel: &'static str, (rows, cols): (usize, usize)) -> Case {
    let mut data = Data::new((rows * 9007 + cols) as u64);
    let x = gates_and_ups(&mut data, rows, cols);
    let dy = data.reals(rows * cols, 1.0);
    case(
        kernel,
        format!("{rows}x{cols}"),
        Params::new().with("rows", rows).with("cols", cols),
        vec![
            Operand::input(&dy),
            Operand::input(&x),
            // s + gate * s * (1 - s) may cancel where its two parts are about 0.3 each; up to 8 is what up brings.
            Operand::Output(rows * 2 * cols, gate_roundings(0.3 * 8.0)),
        ],
        elements(kernel, rows * cols),
    )
}

/// `valid` is what the step says of real rows, whether or not the matrix has them.
fn pick_row((rows, cols): (usize, usize), valid: usize) -> Case {
    let x = Data::new(cols as u64).reals(rows * cols, 3.0);
    let step = Step {
        rows: valid as u32,
        ..STEP
    };
    let picked = case(
        "pick_row",
        format!("{rows}x{cols}, {valid} valid"),
        Params::new().with("rows", rows).with("cols", cols),
        vec![Operand::input(&x), Operand::Output(cols, EXACT)],
        cols,
    );
    Case { step, ..picked }
}

/// The tokens of some rows, and the rows sorted by token, as embedding_grad wants them.
fn tokens(data: &mut Data, rows: usize, vocabulary: usize) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    // The lower half of the vocabulary occurs more often, the last word never unless it is the only one.
    let used = (vocabulary - 1).max(1) as u32;
    let tokens: Vec<u32> = (0..rows)
        .map(|r| data.word() % if r % 2 == 0 { used } else { used.div_ceil(2) })
        .collect();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_key(|r| tokens[*r as usize]);
    let starts = (0..=vocabulary as u32)
        .map(|v| tokens.iter().filter(|t| **t < v).count() as u32)
        .collect();
    (tokens, order, starts)
}

/// Embedding and its gradient in every mode; multiples of 1/8, whose sums are exact.
fn embeddings((rows, cols): (usize, usize), vocabulary: usize) -> Vec<Case> {
    let mut data = Data::new((rows * 9011 + cols * 13 + vocabulary) as u64);
    let (tokens, order, starts) = tokens(&mut data, rows, vocabulary);
    let table = data.reals(vocabulary * cols, 3.0);
    let dy = data.eighths(rows * cols);
    let size = Params::new().with("rows", rows).with("cols", cols);
    let size = size.with("vocabulary", vocabulary);
    let label = format!("{rows}x{cols}, {vocabulary} words");
    let mut cases = Vec::new();
    for kernel in variants("embedding", cols) {
        let operands = vec![
            Operand::Input(tokens.clone()),
            Operand::input(&table),
            Operand::Output(rows * cols, EXACT),
        ];
        let count = elements(kernel, rows * cols);
        cases.push(case(kernel, label.clone(), size.clone(), operands, count));
    }
    for kernel in variants("embedding_grad", cols) {
        for (accumulate, micro, adds) in ACCUMULATE {
            let d_table = if adds {
                Operand::InOut(data.eighths(vocabulary * cols), EXACT)
            } else {
                Operand::Output(vocabulary * cols, EXACT)
            };
            let operands = vec![
                Operand::input(&dy),
                Operand::Input(order.clone()),
                Operand::Input(starts.clone()),
                d_table,
            ];
            let label = format!("{label}, accumulate {accumulate} in micro-batch {micro}");
            let params = size.clone().with("accumulate", accumulate);
            let count = elements(kernel, vocabulary * cols);
            let step = Step { micro, ..STEP };
            cases.push(Case {
                step,
                ..case(kernel, label, params, operands, count)
            });
        }
    }
    cases
}
