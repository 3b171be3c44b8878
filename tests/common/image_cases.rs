//! Cases of the kernels for batch normalisation, pooling, gates and the activations of image networks.

use super::compare::{Data, EXACT, Tolerance, roundings};
use super::kernel_cases::{SIZES, STEP, case, with_output};
use super::kernel_harness::{Case, Operand};
use headroom::engine::kernel::{Params, Step};

/// Samples, pixels of a sample, columns, blocks; and samples that are no padding.
const MATRICES: [[usize; 5]; 9] = [
    [1, 1, 1, 1, 1],
    [2, 1, 3, 1, 2],
    [4, 9, 5, 3, 3],
    [5, 16, 4, 4, 5],
    [3, 7, 8, 5, 2],
    [8, 25, 65, 7, 6],
    [9, 49, 12, 64, 9],
    [2, 2, 68, 9, 1],
    [64, 4, 16, 64, 50],
];
/// Batch, height, width, channels, kernel, stride, padding.
const POOLS: [[usize; 7]; 9] = [
    [1, 1, 1, 1, 1, 1, 0],
    [2, 4, 4, 3, 2, 2, 0],
    [2, 5, 7, 5, 2, 2, 0],
    [1, 7, 5, 4, 3, 2, 1],
    [3, 6, 6, 8, 3, 1, 1],
    [1, 9, 9, 1, 3, 3, 0],
    [2, 3, 3, 65, 3, 2, 1],
    [1, 8, 2, 6, 2, 1, 1],
    [1, 5, 5, 2, 5, 1, 2],
];
/// Batch, pixels, channels.
const PICTURES: [[usize; 3]; 7] = [
    [1, 1, 1],
    [3, 5, 7],
    [2, 49, 4],
    [5, 9, 12],
    [4, 1, 65],
    [1, 300, 3],
    [7, 16, 64],
];

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for sizes in MATRICES {
        cases.extend(statistics(sizes));
        cases.extend(normalise(sizes));
        cases.extend(gradients(sizes));
    }
    cases.extend(far_from_zero());
    for shape in POOLS {
        cases.extend(pools(shape));
    }
    for shape in PICTURES {
        cases.extend(pictures(shape));
    }
    for n in SIZES {
        cases.extend(activations(n));
    }
    cases
}

/// The variants of a kernel that suit a number of columns.
fn suiting(variants: &[&'static str], cols: usize) -> Vec<&'static str> {
    let wide = |name: &str| name.contains("vec4");
    let suits = |name: &&&'static str| !wide(name) || cols.is_multiple_of(4);
    variants.iter().filter(suits).copied().collect()
}

/// Invocations for `n` numbers.
fn lanes(kernel: &str, n: usize) -> usize {
    if kernel.contains("vec4") { n / 4 } else { n }
}

fn step(samples: usize) -> Step {
    Step {
        rows: samples as u32,
        ..STEP
    }
}

fn matrix_params([samples, pixels, cols, ..]: [usize; 5]) -> Params {
    Params::new()
        .with("rows", samples * pixels)
        .with("cols", cols)
}

fn statistics(sizes: [usize; 5]) -> Vec<Case> {
    let [samples, pixels, cols, blocks, valid] = sizes;
    let mut data = Data::new(9000 + (samples * cols) as u64);
    let label = format!("{sizes:?}");
    let tolerance = roundings(samples * pixels + 8, 4.0);
    let sizes = matrix_params(sizes)
        .with("rows_per_sample", pixels)
        .with("blocks", blocks);
    let mut cases = Vec::new();
    for kernel in suiting(&["batch_moments", "batch_moments.vec4"], cols) {
        let operands = vec![
            Operand::input(&data.reals(samples * pixels * cols, 2.0)),
            Operand::Output(blocks * cols, tolerance),
            Operand::Output(blocks * cols, tolerance),
        ];
        let n = lanes(kernel, blocks * cols);
        let made = case(kernel, label.clone(), sizes.clone(), operands, n);
        cases.push(Case {
            step: step(valid),
            ..made
        });
    }
    for kernel in ["batch_moments_finish", "batch_moments_finish.running"] {
        let squares: Vec<f32> = data
            .reals(blocks * cols, 1.0)
            .iter()
            .map(|v| v.abs())
            .collect();
        let mut operands = vec![
            Operand::input(&data.reals(blocks * cols, 2.0)),
            Operand::input(&squares),
            Operand::Output(cols, tolerance),
            Operand::Output(cols, tolerance),
        ];
        let mut params = sizes.clone();
        if kernel.ends_with("running") {
            params = params.with_f32("momentum", 0.1);
            operands.push(Operand::InOut(data.reals(cols, 1.0), tolerance));
            operands.push(Operand::InOut(data.reals(cols, 1.0), tolerance));
        }
        let made = case(kernel, label.clone(), params, operands, cols);
        cases.push(Case {
            step: step(valid),
            ..made
        });
    }
    cases
}

/// Mean 1000, deviation 0.01: a difference of the mean of squares and the square of the mean has no digit left.
fn far_from_zero() -> Vec<Case> {
    let (samples, pixels, cols, blocks) = (8, 32, 4, 5);
    let mut data = Data::new(77);
    let x: Vec<f32> = data
        .reals(samples * pixels * cols, 0.02)
        .iter()
        .map(|v| 1000.0 + v)
        .collect();
    let params = matrix_params([samples, pixels, cols, blocks, samples])
        .with("rows_per_sample", pixels)
        .with("blocks", blocks);
    // A number near 1000 is a multiple of 6e-5; 52 of them have squares that add up to about 0.007.
    let squares = Tolerance {
        absolute: 1e-5,
        relative: 1e-2,
    };
    let mean = Tolerance {
        absolute: 4e-4,
        relative: 0.0,
    };
    ["batch_moments", "batch_moments.vec4"]
        .map(|kernel| {
            let operands = vec![
                Operand::input(&x),
                Operand::Output(blocks * cols, mean),
                Operand::Output(blocks * cols, squares),
            ];
            let n = lanes(kernel, blocks * cols);
            let made = case(kernel, "mean 1000".into(), params.clone(), operands, n);
            Case {
                step: step(samples),
                ..made
            }
        })
        .into()
}

fn normalise(sizes: [usize; 5]) -> Vec<Case> {
    let [samples, pixels, cols, ..] = sizes;
    let mut data = Data::new(9100 + (samples * cols) as u64);
    let variance: Vec<f32> = data
        .reals(cols, 1.0)
        .iter()
        .map(|v| v.abs() + 0.01)
        .collect();
    let inputs = vec![
        Operand::input(&data.reals(samples * pixels * cols, 2.0)),
        Operand::input(&data.reals(cols, 1.0)),
        Operand::input(&variance),
        Operand::input(&data.reals(cols, 2.0)),
        Operand::input(&data.reals(cols, 1.0)),
    ];
    let kernels = [
        "batch_norm",
        "batch_norm.vec4",
        "batch_norm.in_place",
        "batch_norm.vec4+in_place",
    ];
    let params = matrix_params(sizes).with_f32("eps", 1e-5);
    suiting(&kernels, cols)
        .into_iter()
        .map(|kernel| {
            let operands = with_output(kernel, inputs.clone(), roundings(12, 60.0));
            let n = lanes(kernel, samples * pixels * cols);
            case(kernel, format!("{sizes:?}"), params.clone(), operands, n)
        })
        .collect()
}

fn gradients(sizes: [usize; 5]) -> Vec<Case> {
    let [samples, pixels, cols, blocks, valid] = sizes;
    let n = samples * pixels * cols;
    let mut data = Data::new(9200 + (samples * cols) as u64);
    let variance: Vec<f32> = data
        .reals(cols, 1.0)
        .iter()
        .map(|v| v.abs() + 0.1)
        .collect();
    let mut dy = data.reals(n, 1.0);
    dy[valid * pixels * cols..].fill(0.0);
    let (dy, x) = (Operand::input(&dy), Operand::input(&data.reals(n, 2.0)));
    let (mean, variance) = (
        Operand::input(&data.reals(cols, 1.0)),
        Operand::input(&variance),
    );
    let label = format!("{sizes:?}");
    let mut cases = Vec::new();
    let kernels = ["batch_norm_grad_partials", "batch_norm_grad_partials.vec4"];
    for kernel in suiting(&kernels, cols) {
        let tolerance = roundings(samples * pixels + 8, 12.0);
        let operands = vec![
            dy.clone(),
            x.clone(),
            mean.clone(),
            variance.clone(),
            Operand::Output(blocks * cols, tolerance),
            Operand::Output(blocks * cols, tolerance),
        ];
        let params = matrix_params(sizes)
            .with("blocks", blocks)
            .with_f32("eps", 1e-5);
        let n = lanes(kernel, blocks * cols);
        cases.push(case(kernel, label.clone(), params, operands, n));
    }
    let inputs = vec![
        dy,
        x,
        mean,
        variance,
        Operand::input(&data.reals(cols, 2.0)),
        Operand::input(&data.reals(cols, 3.0)),
        Operand::input(&data.reals(cols, 3.0)),
    ];
    let kernels = [
        "batch_norm_grad",
        "batch_norm_grad.vec4",
        "batch_norm_grad.in_place",
        "batch_norm_grad.vec4+in_place",
    ];
    for kernel in suiting(&kernels, cols) {
        let operands = with_output(kernel, inputs.clone(), roundings(20, 200.0));
        let params = matrix_params([samples, pixels, cols, blocks, valid])
            .with("rows_per_sample", pixels)
            .with_f32("eps", 1e-5);
        let made = case(kernel, label.clone(), params, operands, lanes(kernel, n));
        cases.push(Case {
            step: step(valid),
            ..made
        });
    }
    cases
}

fn pools(shape: [usize; 7]) -> Vec<Case> {
    let [batch, height, width, channels, kernel, stride, padding] = shape;
    let [out_height, out_width] = [height, width].map(|s| (s + 2 * padding - kernel) / stride + 1);
    let params = Params::new()
        .with("batch", batch)
        .with("height", height)
        .with("width", width)
        .with("channels", channels)
        .with("out_height", out_height)
        .with("out_width", out_width)
        .with("kernel", kernel)
        .with("stride", stride)
        .with("padding", padding);
    let (n, out) = (
        batch * height * width * channels,
        batch * out_height * out_width * channels,
    );
    let mut data = Data::new(9300 + n as u64);
    // Few different values, all below zero: many are equal, and padding would win if it counted.
    let x: Vec<f32> = data.eighths(n).iter().map(|v| v.round() - 5.0).collect();
    let (x, dy) = (Operand::input(&x), Operand::input(&data.eighths(out)));
    let mean = roundings(kernel * kernel + 2, 8.0);
    [
        (
            "max_pool",
            vec![x.clone(), Operand::Output(out, EXACT)],
            out,
        ),
        ("avg_pool", vec![x.clone(), Operand::Output(out, mean)], out),
        (
            "max_pool_grad",
            vec![dy.clone(), x, Operand::Output(n, EXACT)],
            n,
        ),
        ("avg_pool_grad", vec![dy, Operand::Output(n, mean)], n),
    ]
    .into_iter()
    .map(|(kernel, operands, n)| case(kernel, format!("{shape:?}"), params.clone(), operands, n))
    .collect()
}

fn pictures(shape: [usize; 3]) -> Vec<Case> {
    let [batch, pixels, channels] = shape;
    let (n, small) = (batch * pixels * channels, batch * channels);
    let params = Params::new()
        .with("batch", batch)
        .with("positions", pixels)
        .with("channels", channels);
    let mut data = Data::new(9400 + n as u64);
    let (x, dy) = (
        Operand::input(&data.eighths(n)),
        Operand::input(&data.eighths(n)),
    );
    let s = Operand::input(&data.eighths(small));
    let sums = roundings(pixels + 4, 2.0);
    let label = format!("{shape:?}");
    let mut cases = vec![
        case(
            "global_pool",
            label.clone(),
            params.clone(),
            vec![x.clone(), Operand::Output(small, sums)],
            small,
        ),
        case(
            "global_pool_grad",
            label.clone(),
            params.clone(),
            vec![s.clone(), Operand::Output(n, roundings(2, 2.0))],
            n,
        ),
        case(
            "channel_scale_grad",
            label.clone(),
            params.clone(),
            vec![dy, x.clone(), Operand::Output(small, EXACT)],
            small,
        ),
    ];
    let kernels = [
        "channel_scale",
        "channel_scale.vec4",
        "channel_scale.in_place",
        "channel_scale.vec4+in_place",
    ];
    for kernel in suiting(&kernels, channels) {
        let operands = with_output(kernel, vec![x.clone(), s.clone()], EXACT);
        cases.push(case(
            kernel,
            label.clone(),
            params.clone(),
            operands,
            lanes(kernel, n),
        ));
    }
    cases
}

fn activations(n: usize) -> Vec<Case> {
    let mut data = Data::new(9500 + n as u64);
    let mut x = data.reals(n, 9.0);
    // Far out the exponential overflows; the value must be 0, 1 or x all the same.
    for (i, far) in [0.0, 6.0, 100.0, -100.0, 1e4, -1e4]
        .into_iter()
        .enumerate()
        .take(n)
    {
        x[n - 1 - i] = far;
    }
    let shares: Vec<f32> = data.reals(n, 0.5).iter().map(|v| v + 0.5).collect();
    let (x, dy) = (Operand::input(&x), Operand::input(&data.reals(n, 1.0)));
    // An exponential may be off by 3 + 2 |argument| units.
    let smooth = roundings(30, 1.0);
    let mut cases = Vec::new();
    for (kernel, inputs, tolerance) in [
        ("relu6", vec![x.clone()], EXACT),
        ("relu6.in_place", vec![x.clone()], EXACT),
        ("relu6_grad", vec![dy.clone(), x.clone()], EXACT),
        ("relu6_grad.in_place", vec![dy.clone(), x.clone()], EXACT),
        ("silu", vec![x.clone()], smooth),
        ("silu.in_place", vec![x.clone()], smooth),
        ("silu_grad", vec![dy.clone(), x.clone()], smooth),
        ("silu_grad.in_place", vec![dy.clone(), x.clone()], smooth),
        ("sigmoid", vec![x.clone()], smooth),
        ("sigmoid.in_place", vec![x], smooth),
        (
            "sigmoid_grad",
            vec![dy.clone(), Operand::input(&shares)],
            roundings(4, 1.0),
        ),
        (
            "sigmoid_grad.in_place",
            vec![dy, Operand::input(&shares)],
            roundings(4, 1.0),
        ),
    ] {
        let operands = with_output(kernel, inputs, tolerance);
        let params = Params::new().with("n", n);
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
