//! The table of launches in which every kernel is compared with its twin.

use super::compare::{Data, EXACT, Tolerance, roundings};
use super::kernel_harness::{Case, Grid, Operand};
use super::{attention_cases, conv_cases, image_cases, text_cases, training_cases};
use headroom::engine::kernel::{Params, Step};

/// Elements: one, the borders of a workgroup of 64 counted in elements and in groups of four, and odd numbers beyond.
pub(crate) const SIZES: [usize; 9] = [1, 3, 63, 64, 65, 255, 256, 257, 1021];
/// Rows and columns: one, the borders of a workgroup, and non-multiples of 4 and 64 on each side.
const MATRICES: [(usize, usize); 8] = [
    (1, 1),
    (1, 257),
    (257, 1),
    (63, 65),
    (64, 64),
    (65, 63),
    (1000, 10),
    (3, 1025),
];
/// Modes of `accumulate` with the micro-batch they meet, and whether they then add to the output.
pub(crate) const ACCUMULATE: [(usize, u32, bool); 4] =
    [(0, 1, false), (1, 0, false), (1, 1, true), (2, 0, true)];

/// Every case of every kernel but the matrix products, which have a table of their own.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in SIZES {
        cases.extend(elementwise(n));
        cases.extend(gelus(n));
        cases.extend(casts(n));
    }
    for (rows, cols) in MATRICES {
        cases.extend(matrices(rows, cols));
        cases.extend(reductions(rows, cols));
    }
    cases.extend(casts(special_floats().len()));
    cases.extend(training_cases::all());
    cases.extend(conv_cases::all());
    cases.extend(image_cases::all());
    cases.extend(attention_cases::all());
    cases.extend(text_cases::all());
    cases
}

/// The step of all cases. The number of samples is a power of two, so that a multiplication by its inverse is exact.
pub(crate) const STEP: Step = Step {
    seed: 7,
    update: 11,
    micro: 2,
    rows: 64,
    inv_samples: 1.0 / 64.0,
    lr: 0.01,
    bias1: 0.271,
    bias2: 0.002_997,
    max_norm: 1.0,
};

/// A launch with [`STEP`] of as many workgroups as the invocations need.
pub(crate) fn case(
    kernel: &'static str,
    label: String,
    params: Params,
    operands: Vec<Operand>,
    invocations: usize,
) -> Case {
    Case {
        kernel,
        label,
        params,
        step: STEP,
        operands,
        grid: Grid::Invocations(invocations),
    }
}

/// The operands of a kernel whose output has the size of its first input: there are two buffers for the two, or one in
/// the variant in_place.
pub(crate) fn with_output(
    kernel: &str,
    mut inputs: Vec<Operand>,
    tolerance: Tolerance,
) -> Vec<Operand> {
    let Operand::Input(first) = inputs[0].clone() else {
        panic!("the first operand is an input")
    };
    if kernel.contains("in_place") {
        inputs.remove(0);
        let values = first.into_iter().map(f32::from_bits).collect();
        inputs.push(Operand::InOut(values, tolerance));
    } else {
        inputs.push(Operand::Output(first.len(), tolerance));
    }
    inputs
}

fn elementwise(n: usize) -> Vec<Case> {
    let mut data = Data::new(n as u64);
    let mut x = data.reals(n, 3.0);
    // The kink of relu, from both sides.
    x[n / 2] = -0.0;
    x[n / 3] = 0.0;
    let other = Operand::input(&data.reals(n, 3.0));
    let x = Operand::input(&x);
    let size = Params::new().with("n", n);
    let mut cases = Vec::new();
    let mut push = |kernel: &'static str, inputs: &[&Operand], params: &Params| {
        let operands = with_output(kernel, inputs.iter().map(|o| (*o).clone()).collect(), EXACT);
        cases.push(case(
            kernel,
            format!("n {n}"),
            params.clone(),
            operands,
            n.div_ceil(4),
        ));
    };
    for kernel in ["relu", "relu.in_place"] {
        push(kernel, &[&x], &size);
    }
    for kernel in ["relu_grad", "relu_grad.in_place"] {
        push(kernel, &[&other, &x], &size);
    }
    for kernel in ["add", "add.in_place"] {
        push(kernel, &[&x, &other], &size);
    }
    for kernel in ["scale", "scale.in_place"] {
        push(kernel, &[&x], &size.clone().with_f32("factor", -1.7));
    }
    for (threshold, keep_scale) in [
        (0, 1.0),
        (1 << 30, 4.0 / 3.0),
        (1 << 31, 2.0),
        (u32::MAX, 10.0),
    ] {
        let params = size
            .clone()
            .with("node", 5)
            .with("threshold", threshold as usize)
            .with_f32("keep_scale", keep_scale);
        for kernel in ["dropout", "dropout.in_place"] {
            push(kernel, &[&other], &params);
        }
    }
    let params = size.with_f32("value", -2.5);
    cases.push(case(
        "fill",
        format!("n {n}"),
        params,
        vec![Operand::Output(n, EXACT)],
        n.div_ceil(4),
    ));
    cases
}

fn gelus(n: usize) -> Vec<Case> {
    let mut data = Data::new(1000 + n as u64);
    // The twins work in F64 with the same approximation, so what is left is the rounding of about ten operations and
    // exp, for which WGSL allows 3 + 2 |argument| units: 20 where the result still counts.
    let tolerance = roundings(30, 1.0);
    let mut x = data.reals(n, 8.0);
    // Far out, squares and cubes would overflow: the value must be 0 or x, the slope 0 or 1.
    for (i, far) in [0.0, 30.0, -30.0, 1e4, -1e4]
        .into_iter()
        .enumerate()
        .take(n)
    {
        x[n - 1 - i] = far;
    }
    let x = Operand::input(&x);
    let dy = Operand::input(&data.reals(n, 1.0));
    let mut cases = Vec::new();
    for kernel in [
        "gelu.exact",
        "gelu.tanh",
        "gelu.exact+in_place",
        "gelu.tanh+in_place",
    ] {
        let operands = with_output(kernel, vec![x.clone()], tolerance);
        cases.push(case(
            kernel,
            format!("n {n}"),
            Params::new().with("n", n),
            operands,
            n.div_ceil(4),
        ));
    }
    for kernel in [
        "gelu_grad.exact",
        "gelu_grad.tanh",
        "gelu_grad.exact+in_place",
        "gelu_grad.tanh+in_place",
    ] {
        let operands = with_output(kernel, vec![dy.clone(), x.clone()], tolerance);
        cases.push(case(
            kernel,
            format!("n {n}"),
            Params::new().with("n", n),
            operands,
            n.div_ceil(4),
        ));
    }
    cases
}

/// F32 values at which a conversion to 16 bits can go wrong: signs of zero, the borders of F16's subnormals and of its
/// range, ties in both formats, F32 subnormals, infinities, and NaN with its payload in either half.
fn special_floats() -> Vec<u32> {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        65504.0,
        65519.996,
        65520.0,
        -65520.0,
        1e9,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-40,
        6.1035156e-5,
        6.1e-5,
        5.9604645e-8,
        2.9802322e-8,
        2.9802326e-8,
        2.9e-8,
        -1e-12,
        1.0004883,
        1.0014648,
        f32::from_bits(0x3f80_8000),
        f32::from_bits(0x3f81_8000),
    ];
    let bits = [
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0xffff_ffff,
        0x7f80_ffff,
    ];
    values
        .iter()
        .map(|v: &f32| v.to_bits())
        .chain(bits)
        .collect()
}

fn casts(n: usize) -> Vec<Case> {
    let mut data = Data::new(3000 + n as u64);
    let mut floats = special_floats();
    floats.resize_with(n.max(floats.len()), || data.word());
    floats.truncate(n);
    let halves: Vec<u32> = (0..n.div_ceil(2)).map(|_| data.word()).collect();
    let mut cases = Vec::new();
    for kernel in ["cast.f32_f16", "cast.f32_bf16"] {
        let operands = vec![Operand::Input(floats.clone()), Operand::Bits(n.div_ceil(2))];
        cases.push(case(
            kernel,
            format!("n {n}"),
            Params::new().with("n", n),
            operands,
            n.div_ceil(4),
        ));
    }
    for kernel in ["cast.f16_f32", "cast.bf16_f32"] {
        let operands = vec![Operand::Input(halves.clone()), Operand::Bits(n)];
        cases.push(case(
            kernel,
            format!("n {n}"),
            Params::new().with("n", n),
            operands,
            n.div_ceil(4),
        ));
    }
    cases
}

fn matrices(rows: usize, cols: usize) -> Vec<Case> {
    let mut data = Data::new((rows * 7919 + cols) as u64);
    let size = Params::new().with("rows", rows).with("cols", cols);
    let x = Operand::input(&data.reals(rows * cols, 3.0));
    let mut cases = Vec::new();
    for kernel in ["bias", "bias.in_place"] {
        let operands = with_output(
            kernel,
            vec![x.clone(), Operand::input(&data.reals(cols, 3.0))],
            EXACT,
        );
        cases.push(case(
            kernel,
            format!("{rows}x{cols}"),
            size.clone(),
            operands,
            (rows * cols).div_ceil(4),
        ));
    }
    for (kernel, n) in [
        ("broadcast.rows", cols),
        ("broadcast.cols", rows),
        ("broadcast.all", 1),
    ] {
        let operands = vec![
            Operand::input(&data.reals(n, 3.0)),
            Operand::Output(rows * cols, EXACT),
        ];
        let params = size.clone().with_f32("factor", 0.3);
        cases.push(case(
            kernel,
            format!("{rows}x{cols}"),
            params,
            operands,
            (rows * cols).div_ceil(4),
        ));
    }
    cases
}

fn reductions(rows: usize, cols: usize) -> Vec<Case> {
    let mut data = Data::new((rows * 104_729 + cols) as u64);
    let exact = Operand::input(&data.eighths(rows * cols));
    let rounded = Operand::input(&data.reals(rows * cols, 1.0));
    let mut cases = Vec::new();
    for (kernel, n, length) in [
        ("reduce.rows", cols, rows),
        ("reduce.cols", rows, cols),
        ("reduce.all", 1, rows * cols),
    ] {
        let grid = if n == 1 {
            Grid::Groups(1, 1)
        } else {
            Grid::Invocations(n)
        };
        let mut push = |x: &Operand,
                        tolerance: Tolerance,
                        factor: f32,
                        per_sample: usize,
                        mode: (usize, u32, bool)| {
            let (accumulate, micro, adds) = mode;
            let y = if adds {
                Operand::InOut(vec![1.5; n], tolerance)
            } else {
                Operand::Output(n, tolerance)
            };
            let params = Params::new()
                .with("rows", rows)
                .with("cols", cols)
                .with_f32("factor", factor);
            cases.push(Case {
                kernel,
                label: format!("{rows}x{cols}, accumulate {accumulate} in micro-batch {micro}, per_sample {per_sample}"),
                params: params.with("accumulate", accumulate).with("per_sample", per_sample),
                step: Step { micro, ..STEP },
                operands: vec![x.clone(), y],
                grid,
            });
        };
        for mode in ACCUMULATE {
            push(&exact, EXACT, 0.5, 0, mode);
        }
        push(&exact, EXACT, 0.5, 1, ACCUMULATE[0]);
        // A rounding for every addition, each at most of the sum of all magnitudes.
        push(
            &rounded,
            roundings(length + 2, length as f32),
            0.3,
            0,
            ACCUMULATE[0],
        );
    }
    cases
}
