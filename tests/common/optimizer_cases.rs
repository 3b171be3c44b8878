//! The launches of the optimizers that keep little state, of the loss scale, and of numbers kept in 8 bits.

use super::compare::{Data, EXACT, Tolerance, roundings};
use super::kernel_cases::{NORM, SIZES, case, with_output};
use super::kernel_harness::{Case, Gpu, Grid, Operand};
use headroom::engine::kernel::{Params, fold_groups, kernel};

/// What norm_finish leaves of a broken gradient: the update is to be skipped.
const SKIP: [f32; 8] = [f32::INFINITY, 0.0, 1.0, 0.271, 0.002_997, 12.0, 1024.0, 3.0];

/// Elements and elements to a block: blocks with fewer and more words than a workgroup has invocations, a last block that
/// is not full, and a last word that is not full.
const BLOCKS: [(usize, usize); 9] = [
    (1, 4),
    (3, 64),
    (5, 4),
    (64, 64),
    (255, 64),
    (257, 256),
    (1021, 256),
    (1021, 512),
    (1021, 2048),
];

/// Batch, rows and columns: one of each, the borders of a workgroup, and sizes that a group of four runs across.
const TENSORS: [(usize, usize, usize); 8] = [
    (1, 1, 1),
    (2, 3, 4),
    (1, 63, 65),
    (3, 65, 7),
    (1, 257, 64),
    (5, 1, 33),
    (2, 100, 1),
    (70, 3, 5),
];

/// Every case of these kernels.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = loss_scales();
    for n in SIZES {
        cases.extend(scale_by(n));
        cases.push(lion(n, NORM));
        cases.push(second(n, NORM));
    }
    cases.extend([lion(65, SKIP), second(65, SKIP)]);
    for (n, block) in BLOCKS {
        for kernel in ["adam8bit", "adam8bit.decoupled"] {
            cases.push(adam8bit(kernel, n, block, NORM));
        }
        cases.extend(i8_codes(n, block));
    }
    cases.push(adam8bit("adam8bit", 257, 64, SKIP));
    // One workgroup more than a dimension has, with a single element.
    cases.extend(i8_codes(4 * 65535 + 1, 4));
    cases.push(adam8bit("adam8bit.decoupled", 4 * 65535 + 1, 4, NORM));
    for size in TENSORS {
        cases.extend(adafactor_state(size, NORM));
        cases.extend(adafactor(size, NORM));
    }
    cases.extend(adafactor_state((2, 9, 8), SKIP));
    // Past 64 * 64 groups of four elements an invocation has a second one.
    cases.extend(adafactor((2, 100, 131), NORM));
    cases.extend(skips(&adafactor((2, 9, 8), SKIP)));
    cases
}

/// The cases of the kernel that moves the weights: what partials hold in a skip means nothing.
fn skips(cases: &[Case]) -> Vec<Case> {
    let moves = |c: &&Case| !c.kernel.starts_with("adafactor_partials");
    cases.iter().filter(moves).cloned().collect()
}

/// In a skip nothing may change at all, and the gradient is as broken as it can be.
fn is_skip(norm: [f32; 8]) -> bool {
    norm[2] != 0.0
}

fn within(norm: [f32; 8], tolerance: Tolerance) -> Tolerance {
    if is_skip(norm) { EXACT } else { tolerance }
}

fn gradient(data: &mut Data, n: usize, norm: [f32; 8]) -> Vec<f32> {
    if is_skip(norm) {
        vec![f32::NAN; n]
    } else {
        data.reals(n, 4.0)
    }
}

/// Numbers from 0.01 up.
fn squares(data: &mut Data, n: usize) -> Vec<f32> {
    data.reals(n, 1.0).iter().map(|x| x * x + 0.01).collect()
}

/// A workgroup to each of `count` things.
fn each(count: usize) -> Grid {
    let [x, y, _] = fold_groups(count);
    Grid::Groups(x as usize, y as usize)
}

fn loss_scales() -> Vec<Case> {
    let params = Params::new()
        .with("growth_every", 5)
        .with_f32("beta1", 0.9)
        .with_f32("beta2", 0.999)
        .with_f32("floor", 2.0)
        .with_f32("ceiling", 65536.0);
    let mut cases = Vec::new();
    for (label, norm) in [("made", NORM), ("skipped", SKIP)] {
        for (scale, good) in [
            (1024.0, 0.0),
            (1024.0, 4.0),
            (65536.0, 4.0),
            (2.0, 3.0),
            (4.0, 7.0),
        ] {
            let state = vec![scale, good, 17.0, 2.0, 0.4, 0.03, 6.0, 0.0];
            let operands = vec![
                Operand::input(&norm),
                Operand::InOut(state, roundings(4, 0.0)),
            ];
            let label = format!("{label}, scale {scale}, {good} good ones");
            cases.push(case("loss_scale", label, params.clone(), operands, 1));
        }
    }
    cases
}

fn scale_by(n: usize) -> [Case; 2] {
    let x = Operand::input(&Data::new(5000 + n as u64).reals(n, 3.0));
    let s = Operand::input(&[-1.7, 5.0]);
    ["scale_by", "scale_by.in_place"].map(|kernel| {
        let operands = with_output(kernel, vec![x.clone(), s.clone()], EXACT);
        let params = Params::new().with("n", n);
        case(kernel, format!("n {n}"), params, operands, n.div_ceil(4))
    })
}

fn lion(n: usize, norm: [f32; 8]) -> Case {
    let mut data = Data::new(5100 + n as u64);
    let mut g = gradient(&mut data, n, norm);
    let (w, mut m) = (data.reals(n, 2.0), data.reals(n, 1.0));
    for (g, m) in g.iter().zip(&mut m) {
        // Where the sign is that of a rounding error, devices may differ.
        if (0.9 * *m + 0.1 * norm[1] * g).abs() < 1e-3 {
            *m += 0.5;
        }
    }
    if n > 1 && !is_skip(norm) {
        (g[n / 2], m[n / 2]) = (0.0, 0.0);
    }
    let state = |values| Operand::InOut(values, within(norm, roundings(8, 4.0)));
    let operands = vec![
        Operand::input(&norm),
        Operand::input(&g),
        state(w),
        state(m),
    ];
    let params = Params::new()
        .with("n", n)
        .with_f32("beta1", 0.9)
        .with_f32("beta2", 0.99)
        .with_f32("weight_decay", 0.1);
    case("lion", format!("n {n}"), params, operands, n.div_ceil(4))
}

fn adam8bit(kernel: &'static str, n: usize, block: usize, norm: [f32; 8]) -> Case {
    let mut data = Data::new((5200 + n + block) as u64);
    let (words, blocks) = (n.div_ceil(4), n.div_ceil(block));
    let mut g = gradient(&mut data, n, norm);
    let mut w = data.reals(n, 2.0);
    let mut codes = |_| (0..words).map(|_| data.word()).collect::<Vec<u32>>();
    let [mut m, mut v] = [0, 1].map(&mut codes);
    let (m_scales, v_scales) = (squares(&mut data, blocks), squares(&mut data, blocks));
    if n > block && !is_skip(norm) {
        // A block of zeros.
        g[..block].fill(0.0);
        w[..block].fill(0.0);
        m[..block / 4].fill(0);
        v[..block / 4].fill(0);
    }
    let state = |values| Operand::InOut(values, within(norm, roundings(16, 4.0)));
    let operands = vec![
        Operand::input(&norm),
        Operand::input(&g),
        state(w),
        Operand::Codes(m, true),
        state(m_scales),
        Operand::Codes(v, false),
        state(v_scales),
    ];
    let params = Params::new()
        .with("n", n)
        .with("block", block)
        .with_f32("beta1", 0.9)
        .with_f32("beta2", 0.999)
        .with_f32("eps", 0.01)
        .with_f32("weight_decay", 0.1);
    Case {
        grid: each(blocks),
        ..case(kernel, format!("n {n}, block {block}"), params, operands, 0)
    }
}

fn i8_codes(n: usize, block: usize) -> [Case; 2] {
    let mut data = Data::new((5300 + n + block) as u64);
    let mut x = data.reals(n, 3.0);
    let (words, blocks) = (n.div_ceil(4), n.div_ceil(block));
    if n > block {
        // Blocks of numbers that are too small to keep.
        x[..block].fill(1e-37);
        x[block / 2] = 0.0;
    }
    let params = Params::new().with("n", n).with("block", block);
    let label = format!("n {n}, block {block}");
    let codes: Vec<u32> = (0..words).map(|_| data.word()).collect();
    let scales = squares(&mut data, blocks);
    let quantize = vec![
        Operand::input(&x),
        Operand::new_codes(words, true),
        Operand::Output(blocks, roundings(4, 0.0)),
    ];
    let dequantize = vec![
        Operand::Input(codes),
        Operand::input(&scales),
        Operand::Output(n, EXACT),
    ];
    [
        Case {
            grid: each(blocks),
            ..case("quantize_i8", label.clone(), params.clone(), quantize, 0)
        },
        case("dequantize_i8", label, params, dequantize, words),
    ]
}

/// WGSL allows the power, exp2(-0.8 * log2(t)), some 20 units at t = 12.
const POWER: usize = 32;

fn second(n: usize, norm: [f32; 8]) -> Case {
    let mut data = Data::new(5400 + n as u64);
    let operands = vec![
        Operand::input(&norm),
        Operand::input(&gradient(&mut data, n, norm)),
        Operand::InOut(
            squares(&mut data, n),
            within(norm, roundings(POWER + 8, 0.0)),
        ),
    ];
    let params = Params::new().with("n", n);
    case(
        "adafactor_second",
        format!("n {n}"),
        params,
        operands,
        n.div_ceil(4),
    )
}

fn adafactor_state((batch, rows, cols): (usize, usize, usize), norm: [f32; 8]) -> [Case; 2] {
    let mut data = Data::new((5500 + batch * rows * cols) as u64);
    let label = format!("{batch}x{rows}x{cols}");
    let g = gradient(&mut data, batch * rows * cols, norm);
    let (r, c) = (
        squares(&mut data, batch * rows),
        squares(&mut data, batch * cols),
    );
    // All terms are positive: every addition rounds once.
    let line = |count| within(norm, roundings(POWER + count + 8, 0.0));
    let params = Params::new().with("batch", batch).with("rows", rows);
    let mean = vec![
        Operand::input(&r),
        Operand::Output(batch, roundings(rows + 4, 0.0)),
    ];
    let factors = vec![
        Operand::input(&norm),
        Operand::input(&g),
        Operand::InOut(r, line(cols)),
        Operand::InOut(c, line(rows)),
    ];
    let (kernel, lines) = ("adafactor_factors", batch * (rows + cols));
    let sizes = params.clone().with("cols", cols);
    [
        case(kernel, label.clone(), sizes, factors, lines),
        Case {
            grid: each(batch),
            ..case("adafactor_mean", label, params, mean, 0)
        },
    ]
}

fn adafactor((batch, rows, cols): (usize, usize, usize), norm: [f32; 8]) -> Vec<Case> {
    let n = batch * rows * cols;
    let mut data = Data::new((5600 + n) as u64);
    let g = gradient(&mut data, n, norm);
    let (first, w) = (
        [Operand::input(&norm), Operand::input(&g)],
        data.reals(n, 2.0),
    );
    let mut positive = |count| Operand::input(&squares(&mut data, count));
    let factored = [batch * rows, batch * cols, batch].map(&mut positive);
    let full = [positive(n)];
    let partials = positive(128);
    let params = Params::new()
        .with("n", n)
        .with("rows", rows)
        .with("cols", cols);
    let label = format!("{batch}x{rows}x{cols}");
    let mut cases = Vec::new();
    for (sums, update, second) in [
        (
            "adafactor_partials.factored",
            "adafactor.factored",
            &factored[..],
        ),
        ("adafactor_partials.full", "adafactor.full", &full[..]),
    ] {
        let operands = |third: &Operand, last: Operand| {
            let first = first.iter().chain([third]).chain(second).cloned();
            first.chain([last]).collect::<Vec<_>>()
        };
        // Positive terms, of which an invocation adds one in 4096 groups of four, and a tree 64 of its sums.
        let tolerance = roundings(16 + 4 * n.div_ceil(16384), 0.0);
        let output = Operand::Output(128, tolerance);
        cases.push(Case {
            grid: Grid::Groups(64, 1),
            ..case(
                sums,
                label.clone(),
                params.clone(),
                operands(&Operand::input(&w), output),
                0,
            )
        });
        for (relative, warmup) in [(0, 0), (1, 0), (1, 1)] {
            let params = params
                .clone()
                .with_f32("threshold", 0.7)
                .with_f32("weight_decay", 0.1)
                .with("relative", relative)
                .with("warmup_init", warmup);
            let label = format!("{label}, relative {relative}, warmup_init {warmup}");
            // An update of up to 1.2 / 0.01 times a step of up to 0.1.
            let w = Operand::InOut(w.clone(), within(norm, roundings(24, 12.0)));
            cases.push(case(
                update,
                label,
                params,
                operands(&partials, w),
                n.div_ceil(4),
            ));
        }
    }
    cases
}

/// A block with a broken number comes back as NaN, the others as they are; so does the longest gradient of a scaled loss.
#[test]
fn a_block_with_a_broken_number_comes_back_as_nan() {
    let gpu = Gpu::open("a_block_with_a_broken_number_comes_back_as_nan");
    for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let params = Params::new().with("n", 9).with("block", 4);
        let x = [1.0, 2.0, 127.0, -4.0, 0.0, 1.0, broken, 3.0, -5.0];
        let operands = vec![
            Operand::input(&x),
            Operand::new_codes(3, true),
            Operand::Output(3, EXACT),
        ];
        let quantize = Case {
            grid: each(3),
            ..case("quantize_i8", String::new(), params.clone(), operands, 0)
        };
        let buffers = quantize.run(&gpu, kernel("quantize_i8").unwrap()).unwrap();
        let operands = vec![
            Operand::Input(buffers[1].clone()),
            Operand::Input(buffers[2].clone()),
            Operand::Output(9, EXACT),
        ];
        let back = case("dequantize_i8", String::new(), params, operands, 3);
        let buffers = back.run(&gpu, kernel("dequantize_i8").unwrap()).unwrap();
        let y: Vec<f32> = buffers[2].iter().map(|w| f32::from_bits(*w)).collect();
        assert_eq!(y[..4], x[..4]);
        assert!(y[4..8].iter().all(|y| y.is_nan()), "{broken}: {y:?}");
        assert!((y[8] + 5.0).abs() < 1e-5, "{y:?}");
    }
}

/// A sum of squares that is not finite asks for a skip; the other numbers are those of the state all the same.
#[test]
fn a_broken_gradient_of_a_scaled_loss_is_skipped() {
    let gpu = Gpu::open("a_broken_gradient_of_a_scaled_loss_is_skipped");
    let state = [1024.0, 3.0, 17.0, 2.0, 0.4, 0.03, 0.0, 0.0];
    for broken in [f32::INFINITY, f32::NAN, f32::MAX] {
        let operands = vec![
            Operand::input(&[1.0, broken, broken]),
            Operand::input(&state),
            Operand::Output(8, EXACT),
        ];
        let params = Params::new().with("count", 3).with("offset", 0);
        let finish = case("norm_finish.scaled", String::new(), params, operands, 1);
        let buffers = finish.run(&gpu, kernel(finish.kernel).unwrap()).unwrap();
        let norm: Vec<f32> = buffers[2].iter().map(|w| f32::from_bits(*w)).collect();
        assert!(!norm[0].is_finite(), "{norm:?}");
        assert_eq!(norm[1..], [0.0, 1.0, 0.4, 0.03, 18.0, 1024.0, 2.0]);
    }
    // Without clipping the factor is exactly the inverse of the scale, on every device.
    for exponent in [0, 1, 10, 16, 24] {
        let mut state = state;
        state[0] = 2f32.powi(exponent);
        let mut launch = case(
            "norm_finish.scaled",
            String::new(),
            Params::new().with("count", 2).with("offset", 0),
            vec![
                Operand::input(&[3.0, 5.0]),
                Operand::input(&state),
                Operand::Output(8, EXACT),
            ],
            1,
        );
        launch.step.max_norm = 0.0;
        let buffers = launch.run(&gpu, kernel(launch.kernel).unwrap()).unwrap();
        assert_eq!(f32::from_bits(buffers[2][1]), 2f32.powi(-exponent));
    }
}
