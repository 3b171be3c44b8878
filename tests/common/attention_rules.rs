//! What attention must do beyond agreeing with its twins: the two forms give the same numbers and the right gradients, and
//! masks hold with scores of any size.

use super::attention_cases::{Sizes, fused_tolerance, rotary_table, softmax_case};
use super::compare::{Data, EXACT, Tolerance, compare, roundings};
use super::kernel_cases::case;
use super::kernel_harness::{Case, Gpu, Operand};
use headroom::engine::kernel::{Kernel, Params, kernel};

/// What a launch leaves in its last `N` buffers.
fn run<const N: usize>(gpu: &Gpu, case: &Case) -> [Vec<f32>; N] {
    let buffers = case
        .run(gpu, kernel(case.kernel).unwrap())
        .unwrap_or_else(|e| panic!("{} ({}): {e}", case.kernel, case.label));
    let floats = |words: &Vec<u32>| words.iter().map(|w| f32::from_bits(*w)).collect();
    let last: Vec<Vec<f32>> = buffers[buffers.len() - N..].iter().map(floats).collect();
    last.try_into().unwrap()
}

/// Inputs, and an output of n elements.
fn operands(inputs: &[&[f32]], n: usize) -> Vec<Operand> {
    let inputs = inputs.iter().map(|values| Operand::input(values));
    inputs.chain([Operand::Output(n, EXACT)]).collect()
}

/// The kernel or its variant vec4.
fn variant(names: [&'static str; 2], vec4: bool) -> &'static str {
    names[usize::from(vec4)]
}

/// o and d_qkv through the kernels that keep the probabilities.
fn plain_chain(gpu: &Gpu, sizes: Sizes, qkv: &[f32], d_o: &[f32], vec4: bool) -> [Vec<f32>; 2] {
    let (n, s) = (sizes.outputs(), sizes.scores());
    let rows = (sizes.queries(), sizes.context);
    let scores = variant(["attention_scores", "attention_scores.vec4"], vec4);
    let [s_values] = run(gpu, &sizes.case(scores, operands(&[qkv], s)));
    let softmax = variant(["causal_softmax.group", "causal_softmax.row"], vec4);
    let [p] = run(gpu, &softmax_case(softmax, rows, operands(&[&s_values], s)));
    let mix = variant(["attention_mix", "attention_mix.vec4"], vec4);
    let [o] = run(gpu, &sizes.case(mix, operands(&[&p, qkv], n)));
    let mix_grad = variant(["attention_mix_grad", "attention_mix_grad.vec4"], vec4);
    let [dp] = run(gpu, &sizes.case(mix_grad, operands(&[d_o, qkv], s)));
    let softmax_grad = variant(
        ["causal_softmax_grad.group", "causal_softmax_grad.row"],
        vec4,
    );
    let [ds] = run(
        gpu,
        &softmax_case(softmax_grad, rows, operands(&[&dp, &p], s)),
    );
    let qkv_grad = variant(["attention_qkv_grad", "attention_qkv_grad.vec4"], vec4);
    let inputs = operands(&[&p, &ds, qkv, d_o], 3 * n);
    let [d_qkv] = run(gpu, &sizes.case(qkv_grad, inputs));
    [o, d_qkv]
}

/// The same through the kernels that compute the probabilities again.
fn fused_chain(gpu: &Gpu, sizes: Sizes, qkv: &[f32], d_o: &[f32], vec4: bool) -> [Vec<f32>; 2] {
    let (n, queries) = (sizes.outputs(), sizes.queries());
    let forward = variant(["attention_fused", "attention_fused.vec4"], vec4);
    let mut buffers = operands(&[qkv], n);
    buffers.push(Operand::Output(queries, EXACT));
    let [o, lse] = run(gpu, &sizes.case(forward, buffers));
    let delta = variant(["attention_delta", "attention_delta.vec4"], vec4);
    let [delta] = run(gpu, &sizes.case(delta, operands(&[d_o, &o], queries)));
    let mut d_qkv = vec![f32::NAN; 3 * n];
    for pass in [
        [
            "attention_fused_query_grad",
            "attention_fused_query_grad.vec4",
        ],
        [
            "attention_fused_key_value_grad",
            "attention_fused_key_value_grad.vec4",
        ],
    ] {
        let mut buffers = operands(&[qkv, d_o, &lse, &delta], 0);
        buffers.pop();
        buffers.push(Operand::InOut(d_qkv, EXACT));
        [d_qkv] = run(gpu, &sizes.case(variant(pass, vec4), buffers));
    }
    [o, d_qkv]
}

#[test]
fn plain_and_fused_attention_give_the_same_output_and_gradient() {
    let gpu = Gpu::open("plain_and_fused_attention_give_the_same_output_and_gradient");
    for (sizes, vec4) in [
        (Sizes::new(2, 13, 3, 5), false),
        (Sizes::new(2, 44, 3, 12), true),
        (Sizes::new(2, 128, 4, 32), true),
    ] {
        let mut data = Data::new(11);
        let (qkv, d_o) = (
            data.reals(3 * sizes.outputs(), 1.0),
            data.reals(sizes.outputs(), 1.0),
        );
        let plain = plain_chain(&gpu, sizes, &qkv, &d_o, vec4);
        let fused = fused_chain(&gpu, sizes, &qkv, &d_o, vec4);
        for (name, (got, expected)) in ["o", "d_qkv"].iter().zip(fused.iter().zip(&plain)) {
            let seen = compare(got, expected, fused_tolerance(sizes))
                .unwrap_or_else(|e| panic!("{name} ({sizes:?}): {e}"));
            println!("{name} ({sizes:?}): {seen}");
        }
    }
}

/// Sum of o * d_o in F64, straight from the definition.
fn loss(sizes: Sizes, (batch, heads): (usize, usize), qkv: &[f64], d_o: &[f32]) -> f64 {
    let (context, dim) = (sizes.context, sizes.head_dim);
    let mut sum = 0.0;
    for (sample, head, t) in (0..batch * heads * context)
        .map(|i| (i / heads / context, i / context % heads, i % context))
    {
        let at = |third: usize, row: usize, c: usize| {
            qkv[((sample * context + row) * 3 + third) * heads * dim + head * dim + c]
        };
        let score = |key: usize| {
            let product: f64 = (0..dim).map(|c| at(0, t, c) * at(1, key, c)).sum();
            (product / (dim as f64).sqrt()).exp()
        };
        let total: f64 = (0..=t).map(score).sum();
        for (key, c) in (0..=t).flat_map(|key| (0..dim).map(move |c| (key, c))) {
            let d = d_o[(sample * context + t) * heads * dim + head * dim + c];
            sum += score(key) / total * at(2, key, c) * f64::from(d);
        }
    }
    sum
}

#[test]
fn the_gradient_of_attention_is_the_slope_of_its_output() {
    let gpu = Gpu::open("the_gradient_of_attention_is_the_slope_of_its_output");
    let (batch, heads) = (2, 2);
    let sizes = Sizes::new(batch, 12, heads, 4);
    let mut data = Data::new(12);
    let (qkv, d_o) = (
        data.reals(3 * sizes.outputs(), 1.0),
        data.reals(sizes.outputs(), 1.0),
    );
    let wide: Vec<f64> = qkv.iter().map(|v| f64::from(*v)).collect();
    let slope = |i: usize| {
        let shifted = |by: f64| {
            let mut qkv = wide.clone();
            qkv[i] += by;
            loss(sizes, (batch, heads), &qkv, &d_o)
        };
        ((shifted(1e-4) - shifted(-1e-4)) / 2e-4) as f32
    };
    let expected: Vec<f32> = (0..qkv.len()).map(slope).collect();
    for vec4 in [false, true] {
        for chain in [plain_chain, fused_chain] {
            let [_, d_qkv] = chain(&gpu, sizes, &qkv, &d_o, vec4);
            // The central difference is off by about its step squared.
            let tolerance = Tolerance {
                absolute: 2e-6,
                relative: 2e-6,
            };
            let _ = compare(&d_qkv, &expected, tolerance).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// A mask must not be a large negative number that is added: it may overflow, or not be large enough.
#[test]
fn masked_probabilities_are_0_and_the_rest_sums_to_1_whatever_the_scores() {
    let gpu = Gpu::open("masked_probabilities_are_0_and_the_rest_sums_to_1_whatever_the_scores");
    let context = 70;
    for (low, high) in [(-1e4, 1e4), (-1e4, -9.9e3), (9.9e3, 1e4), (-3e38, -2.9e38)] {
        let mut data = Data::new(13);
        let mut s: Vec<f32> = data.reals(2 * context * context, 1.0);
        s.iter_mut()
            .for_each(|v| *v = low + (high - low) * (0.5 + 0.5 * *v));
        for (r, row) in s.chunks_mut(context).enumerate() {
            row[r % context + 1..].fill(if r % 2 == 0 { 3e38 } else { f32::NAN });
        }
        for name in ["causal_softmax.row", "causal_softmax.group"] {
            let launch = operands(&[&s], s.len());
            let [p] = run(&gpu, &softmax_case(name, (2 * context, context), launch));
            for (r, row) in p.chunks(context).enumerate() {
                let (seen, masked) = row.split_at(r % context + 1);
                let sum: f32 = seen.iter().sum();
                assert!(masked.iter().all(|v| *v == 0.0), "{name} row {r}: {row:?}");
                assert!(seen.iter().all(|v| *v >= 0.0), "{name} row {r}: {row:?}");
                assert!((sum - 1.0).abs() < 1e-5, "{name} row {r} sums to {sum}");
            }
            assert_eq!(p[0], 1.0, "{name}: the first query sees itself only");
        }
    }
}

#[test]
fn fused_attention_stays_finite_with_scores_of_plus_and_minus_10000() {
    let gpu = Gpu::open("fused_attention_stays_finite_with_scores_of_plus_and_minus_10000");
    let (heads, dim) = (2, 4);
    let sizes = Sizes::new(1, 45, heads, dim);
    let mut data = Data::new(14);
    // Two columns of queries and keys: scores of 0.5 * 200 * 100, of either sign, and small ones.
    let mut qkv = data.reals(3 * sizes.outputs(), 1.0);
    let width = heads * dim;
    for (t, row) in qkv.chunks_mut(3 * width).enumerate() {
        for head in 0..heads {
            row[head * dim] = if t % 3 == 0 { 200.0 } else { -200.0 };
            row[width + head * dim] = [100.0, -100.0, 0.0][t % 3 * (head + 1) % 3];
        }
    }
    let d_o = data.reals(sizes.outputs(), 1.0);
    for vec4 in [false, true] {
        let [o, d_qkv] = fused_chain(&gpu, sizes, &qkv, &d_o, vec4);
        assert!(o.iter().chain(&d_qkv).all(|v| v.is_finite()));
        // A weighted mean lies between the smallest and the largest value.
        assert!(o.iter().all(|v| v.abs() <= 1.0), "{o:?}");
        assert_eq!(
            o[..width],
            qkv[2 * width..3 * width],
            "the first query sees one key"
        );
        // Its probability is 1 whatever its score is, which it therefore has no influence on.
        assert!(d_qkv[..width].iter().all(|v| v.abs() < 1e-2), "{d_qkv:?}");
    }
}

#[test]
fn turning_back_undoes_rotary_positions() {
    let gpu = Gpu::open("turning_back_undoes_rotary_positions");
    let (rows, context, heads, head_dim) = (14, 7, 3, 10);
    let mut data = Data::new(15);
    let x = data.reals(rows * 3 * heads * head_dim, 1.0);
    let table = rotary_table(context, head_dim);
    let turned = |values: &[f32], inverse: usize| {
        let params = Params::new()
            .with("rows", rows)
            .with("context", context)
            .with("heads", heads)
            .with("head_dim", head_dim)
            .with("inverse", inverse);
        let launch = operands(&[values, &table], x.len());
        let pairs = rows * heads * head_dim / 2;
        let [y] = run(&gpu, &case("rotary", String::new(), params, launch, pairs));
        y
    };
    let y = turned(&x, 0);
    assert_ne!(x, y);
    let _ = compare(&turned(&y, 1), &x, roundings(8, 1.0)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn deliberately_wrong_attention_comes_out_red() {
    let gpu = Gpu::open("deliberately_wrong_attention_comes_out_red");
    let cases = super::attention_cases::all();
    for (name, from, to) in [
        (
            "attention_scores.vec4",
            "keys <= vec4u(t)",
            "keys < vec4u(t)",
        ),
        ("attention_mix.vec4", "key <= t;", "key < t;"),
        (
            "attention_fused",
            "select(shrink * o[out + c]",
            "select(o[out + c]",
        ),
        (
            "attention_fused.vec4",
            "select(shrink * o[i]",
            "select(o[i]",
        ),
        (
            "attention_fused_key_value_grad.vec4",
            "(queries < vec4u(shape.context))",
            "(queries == queries)",
        ),
        (
            "causal_softmax.group",
            "c < seen; c",
            "c < params.context; c",
        ),
    ] {
        let right = kernel(name).unwrap();
        let text = right.wgsl;
        assert!(text.contains(from), "{name} no longer contains {from:?}");
        let wgsl: &'static str = right.wgsl.replace(from, to).leak();
        let wrong = Kernel {
            wgsl,
            ..Kernel { ..*right }
        };
        let red = cases
            .iter()
            .filter(|c| c.kernel == name)
            .filter(|c| c.check_against(&gpu, &wrong).is_err())
            .count();
        assert!(red > 0, "{name} with {to:?} for {from:?} passes every case");
    }
}
