//! The harness itself under test: kernels that are wrong on purpose go through all of it and must come out red.

use super::compare::EXACT;
use super::kernel_cases::STEP;
use super::kernel_harness::{Case, Gpu, Grid, Operand};
use super::text_cases::{self, Rows};
use headroom::engine::kernel::{Kernel, Params, kernel};

/// A kernel with the layout of `right` and another text.
fn wrong(right: &str, name: &'static str, from: &str, to: &str) -> Kernel {
    let right = kernel(right).unwrap();
    let wgsl = right.wgsl;
    assert!(
        wgsl.contains(from),
        "{} no longer contains {from:?}",
        right.name
    );
    let wgsl: &'static str = wgsl.replace(from, to).leak();
    Kernel {
        name,
        wgsl,
        ..Kernel { ..*right }
    }
}

fn wrong_relu(name: &'static str, from: &str, to: &str) -> Kernel {
    wrong("relu", name, from, to)
}

#[test]
fn deliberately_wrong_kernels_come_out_red() {
    let gpu = Gpu::open("deliberately_wrong_kernels_come_out_red");
    let case = |n: usize| {
        let x: Vec<f32> = (0..n).map(|i| i as f32 - 20.0).collect();
        let operands = vec![Operand::input(&x), Operand::Output(n, EXACT)];
        let (params, grid) = (Params::new().with("n", n), Grid::Invocations(n.div_ceil(4)));
        Case {
            kernel: "relu",
            label: format!("n {n}"),
            params,
            step: STEP,
            operands,
            grid,
        }
    };
    for n in [37, 257, 300] {
        let _ = case(n).check(&gpu).expect("the kernel as it is passes");
    }
    let guard = "if (i >= (params.n + 3u) / 4u)";
    let value = "select(v, vec4f(0.0), v < vec4f(0.0))";
    for (wrong, n, sign) in [
        (
            wrong_relu("tail_off_by_one", guard, "if (i >= params.n / 4u)"),
            37,
            "was not written",
        ),
        (
            wrong_relu("no_guard", guard, "if (false)"),
            37,
            "past the end",
        ),
        (
            wrong_relu("one_too_many", guard, "if (i > (params.n + 3u) / 4u)"),
            37,
            "past the end",
        ),
        (wrong_relu("forgets_the_kink", value, "v"), 37, "differ"),
        (
            wrong_relu(
                "one_wrong_element",
                value,
                "max(v, vec4f(0.0)) + select(0.0, 1.0, i == 70u)",
            ),
            300,
            "worst at [280]",
        ),
        (
            wrong_relu("second_group_only", "let i = ", "let i = 64u + "),
            300,
            "was not written",
        ),
        (
            wrong_relu("writes_nan", value, "v * bitcast<f32>(i | 0x7fc00000u)"),
            37,
            "got[0] is NaN",
        ),
        (
            wrong_relu(
                "other_binding",
                "var<storage, read> x",
                "var<storage, read_write> x",
            ),
            37,
            "validation",
        ),
    ] {
        let failure = case(n).check_against(&gpu, &wrong).expect_err(wrong.name);
        assert!(
            failure.contains(sign),
            "{} must be told by {sign:?}, was: {failure}",
            wrong.name
        );
    }
}

/// The usual ways to get a normalization of rows wrong, each told by the cases that are made for it.
#[test]
fn wrong_row_norms_come_out_red() {
    let gpu = Gpu::open("wrong_row_norms_come_out_red");
    let tree = "shares[lane] += shares[lane + half];";
    for (right, name, from, to, content) in [
        (
            "layer_norm.row",
            "counts_from_0",
            "let origin = x[start];",
            "let origin = 0.0;",
            Rows::FarFromZero,
        ),
        (
            "layer_norm.group",
            "tree_without_a_level",
            tree,
            "if (half < 32u) { shares[lane] += shares[lane + half]; }",
            Rows::Exact,
        ),
        (
            "layer_norm.row",
            "unbiased_variance",
            "/ f32(params.cols)",
            "/ f32(params.cols - 1u)",
            Rows::Spread,
        ),
        (
            "layer_norm.rms+row",
            "no_eps",
            "+ params.eps",
            "",
            Rows::Exact,
        ),
    ] {
        let case = text_cases::norm(right, (66, 100), content);
        let _ = case.check(&gpu).expect("the kernel as it is passes");
        let failure = case
            .check_against(&gpu, &wrong(right, name, from, to))
            .expect_err(name);
        assert!(failure.contains("differ"), "{name}: {failure}");
    }
}
