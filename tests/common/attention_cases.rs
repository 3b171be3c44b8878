//! Cases of the kernels for attention, plain and fused, and rotary positions.

use super::compare::{Data, EXACT, Tolerance, roundings};
use super::kernel_cases::{STEP, case, with_output};
use super::kernel_harness::{Case, Grid, Operand};
use headroom::engine::cpu::twins::run_twin;
use headroom::engine::kernel::{Params, fold_groups};
use std::cell::Cell;

/// Every case of this family.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for sizes in SIZES {
        cases.extend(plain(sizes));
        cases.extend(fused(sizes));
    }
    for (rows, context) in [(1, 1), (10, 5), (63, 63), (64, 64), (130, 65), (300, 150)] {
        cases.extend(softmaxes(rows, context));
    }
    for (rows, sizes) in [
        (1, Sizes::new(1, 1, 1, 2)),
        (10, Sizes::new(2, 5, 3, 6)),
        (65, Sizes::new(5, 13, 2, 32)),
    ] {
        cases.extend(rotaries(rows, sizes));
    }
    cases
}

/// One of each, odd numbers, the borders of a tile of 8, and what the variants vec4 take: head_dim, and in the plain form
/// context, in multiples of 4 that are and are not multiples of 8.
const SIZES: [Sizes; 16] = [
    Sizes::new(1, 1, 1, 1),
    Sizes::new(1, 1, 2, 4),
    Sizes::new(2, 7, 3, 5),
    Sizes::new(3, 5, 1, 2),
    Sizes::new(1, 17, 2, 33),
    Sizes::new(1, 4, 1, 4),
    Sizes::new(1, 8, 2, 4),
    Sizes::new(2, 9, 1, 12),
    Sizes::new(1, 20, 2, 8),
    Sizes::new(2, 28, 3, 12),
    Sizes::new(1, 36, 2, 20),
    Sizes::new(2, 65, 2, 16),
    Sizes::new(1, 64, 4, 32),
    Sizes::new(1, 132, 1, 64),
    Sizes::new(1, 63, 5, 64),
    Sizes::new(1, 12, 1, 128),
];

/// What every attention kernel takes as its uniform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    batch: usize,
    pub(crate) context: usize,
    heads: usize,
    pub(crate) head_dim: usize,
}

impl Sizes {
    pub(crate) const fn new(batch: usize, context: usize, heads: usize, head_dim: usize) -> Self {
        Self {
            batch,
            context,
            heads,
            head_dim,
        }
    }

    pub(crate) fn params(self) -> Params {
        Params::new()
            .with("batch", self.batch)
            .with("context", self.context)
            .with("heads", self.heads)
            .with("head_dim", self.head_dim)
    }

    /// Elements of o; qkv has three times as many.
    pub(crate) fn outputs(self) -> usize {
        self.batch * self.context * self.heads * self.head_dim
    }

    /// Queries of all heads: elements of lse.
    pub(crate) fn queries(self) -> usize {
        self.batch * self.heads * self.context
    }

    /// Elements of the scores.
    pub(crate) fn scores(self) -> usize {
        self.queries() * self.context
    }

    /// Tiles of 8 rows in all heads.
    fn tiles(self) -> usize {
        self.batch * self.heads * self.context.div_ceil(8)
    }

    fn label(self) -> String {
        format!(
            "batch {}, context {}, {} heads of {}",
            self.batch, self.context, self.heads, self.head_dim
        )
    }

    /// Whether a kernel's variant takes these sizes.
    pub(crate) fn fit(self, kernel: &str) -> bool {
        let plain = !kernel.contains("fused") && !kernel.contains("delta");
        !kernel.contains("vec4")
            || (self.head_dim.is_multiple_of(4) && (!plain || self.context.is_multiple_of(4)))
    }

    /// Invocations of a kernel.
    fn invocations(self, kernel: &str) -> usize {
        let sides = self.head_dim.div_ceil(8);
        match kernel {
            "attention_scores" | "attention_mix_grad" => self.scores(),
            "attention_scores.vec4" | "attention_mix_grad.vec4" => {
                self.tiles() * self.context.div_ceil(8)
            }
            "attention_mix" => self.outputs(),
            "attention_mix.vec4" => self.tiles() * sides,
            "attention_qkv_grad" => 3 * self.outputs(),
            "attention_qkv_grad.vec4" => 3 * self.tiles() * sides,
            "attention_fused.vec4"
            | "attention_fused_query_grad.vec4"
            | "attention_fused_key_value_grad.vec4" => self.tiles(),
            _ => self.queries(),
        }
    }

    /// A launch of one of the kernels that take these sizes.
    pub(crate) fn case(self, kernel: &'static str, operands: Vec<Operand>) -> Case {
        let invocations = self.invocations(kernel);
        case(kernel, self.label(), self.params(), operands, invocations)
    }

    /// Random numbers past the diagonal, which no key may see, become 0.
    fn masked(self, mut values: Vec<f32>) -> Vec<f32> {
        for (r, row) in values.chunks_mut(self.context).enumerate() {
            row[r % self.context + 1..].fill(0.0);
        }
        values
    }
}

/// The scale of the scores is rounded and multiplies each term, which may cancel: all other numbers in these cases are
/// exact.
fn scale_only() -> Tolerance {
    roundings(8, 4.0)
}

fn plain(sizes: Sizes) -> Vec<Case> {
    let mut data = Data::new((sizes.scores() * 31 + sizes.head_dim) as u64);
    let qkv = Operand::input(&data.eighths(3 * sizes.outputs()));
    let d_o = Operand::input(&data.eighths(sizes.outputs()));
    let p = Operand::input(&sizes.masked(data.eighths(sizes.scores())));
    let ds = Operand::input(&sizes.masked(data.eighths(sizes.scores())));
    let (o, s) = (sizes.outputs(), sizes.scores());
    let output = |n, tolerance| Operand::Output(n, tolerance);
    [
        ("attention_scores", vec![&qkv], output(s, scale_only())),
        ("attention_scores.vec4", vec![&qkv], output(s, scale_only())),
        ("attention_mix", vec![&p, &qkv], output(o, EXACT)),
        ("attention_mix.vec4", vec![&p, &qkv], output(o, EXACT)),
        ("attention_mix_grad", vec![&d_o, &qkv], output(s, EXACT)),
        (
            "attention_mix_grad.vec4",
            vec![&d_o, &qkv],
            output(s, EXACT),
        ),
        (
            "attention_qkv_grad",
            vec![&p, &ds, &qkv, &d_o],
            output(3 * o, scale_only()),
        ),
        (
            "attention_qkv_grad.vec4",
            vec![&p, &ds, &qkv, &d_o],
            output(3 * o, scale_only()),
        ),
    ]
    .into_iter()
    .filter(|(kernel, ..)| sizes.fit(kernel))
    .map(|(kernel, inputs, output)| {
        let operands = inputs.into_iter().cloned().chain([output]).collect();
        sizes.case(kernel, operands)
    })
    .collect()
}

/// How far an output of fused attention may be off, if all inputs lie between -1 and 1: the weights of a row sum to 1, so a
/// rounding of every term and every addition counts once, as does each of the head_dim products of a score.
pub(crate) fn fused_tolerance(sizes: Sizes) -> Tolerance {
    roundings(2 * (sizes.context + sizes.head_dim + 16), 1.0)
}

fn fused(sizes: Sizes) -> Vec<Case> {
    let mut data = Data::new((sizes.scores() * 37 + sizes.head_dim) as u64);
    let (n, queries) = (sizes.outputs(), sizes.queries());
    let (qkv, d_o) = (data.reals(3 * n, 1.0), data.reals(n, 1.0));
    // What the backward pass takes comes from the twins.
    let forward = twin(
        "attention_fused",
        sizes,
        &[&qkv, &vec![0.0; n], &vec![0.0; queries]],
    );
    let delta = twin(
        "attention_delta",
        sizes,
        &[&d_o, &forward[1], &vec![0.0; queries]],
    );
    let saved: Vec<Operand> = [&qkv, &d_o, &forward[2], &delta[2]]
        .map(|values| Operand::input(values))
        .to_vec();
    let tolerance = fused_tolerance(sizes);
    let mut cases = Vec::new();
    for kernel in ["attention_fused", "attention_fused.vec4"] {
        let outputs = [
            Operand::Output(n, tolerance),
            Operand::Output(queries, tolerance),
        ];
        let operands = [Operand::input(&qkv)].into_iter().chain(outputs).collect();
        cases.push(sizes.case(kernel, operands));
    }
    for kernel in ["attention_delta", "attention_delta.vec4"] {
        let exact = [data.eighths(n), data.eighths(n)];
        let mut operands: Vec<Operand> = exact.iter().map(|v| Operand::input(v)).collect();
        operands.push(Operand::Output(queries, EXACT));
        cases.push(sizes.case(kernel, operands));
    }
    for kernel in [
        "attention_fused_query_grad",
        "attention_fused_query_grad.vec4",
        "attention_fused_key_value_grad",
        "attention_fused_key_value_grad.vec4",
    ] {
        // The other columns of d_qkv must stay as they are, so they must hold something no gradient is.
        let d_qkv = Operand::InOut(vec![1000.0; 3 * n], tolerance);
        let operands = saved.iter().cloned().chain([d_qkv]).collect();
        cases.push(sizes.case(kernel, operands));
    }
    cases.retain(|c| sizes.fit(c.kernel));
    cases
}

/// What the twin leaves in each buffer.
pub(crate) fn twin(kernel: &str, sizes: Sizes, buffers: &[&[f32]]) -> Vec<Vec<f32>> {
    let cells: Vec<Vec<Cell<u32>>> = buffers
        .iter()
        .map(|b| b.iter().map(|v| Cell::new(v.to_bits())).collect())
        .collect();
    let bindings: Vec<&[Cell<u32>]> = cells.iter().map(Vec::as_slice).collect();
    run_twin(kernel, &sizes.params(), &STEP, &bindings).unwrap();
    cells
        .iter()
        .map(|b| b.iter().map(|w| f32::from_bits(w.get())).collect())
        .collect()
}

/// A launch of causal_softmax or causal_softmax_grad, whose features `row` and `group` have different grids.
pub(crate) fn softmax_case(
    kernel: &'static str,
    (rows, context): (usize, usize),
    operands: Vec<Operand>,
) -> Case {
    let [x, y, _] = fold_groups(rows);
    let params = Params::new().with("rows", rows).with("context", context);
    let label = format!("{rows} rows, context {context}");
    let mut case = case(kernel, label, params, operands, rows);
    if kernel.contains("group") {
        case.grid = Grid::Groups(x as usize, y as usize);
    }
    case
}

fn softmaxes(rows: usize, context: usize) -> Vec<Case> {
    let mut data = Data::new((rows * 41 + context) as u64);
    // Past the diagonal stands what would spoil a row that reads it.
    let mut s = data.reals(rows * context, 5.0);
    for (r, row) in s.chunks_mut(context).enumerate() {
        row[r % context + 1..].fill(f32::NAN);
    }
    // All terms are positive: exp may be off by 3 + 2 |argument| units in each of them, and every addition by one.
    let tolerance = roundings(2 * (3 + 2 * 10) + context + 8, 0.0);
    let mut cases = Vec::new();
    for kernel in [
        "causal_softmax.row",
        "causal_softmax.group",
        "causal_softmax.row+in_place",
        "causal_softmax.group+in_place",
    ] {
        let operands = with_output(kernel, vec![Operand::input(&s)], tolerance);
        cases.push(softmax_case(kernel, (rows, context), operands));
    }
    // Sums, difference and product of these are exact.
    let (dp, p) = (data.eighths(rows * context), data.eighths(rows * context));
    for kernel in [
        "causal_softmax_grad.row",
        "causal_softmax_grad.group",
        "causal_softmax_grad.row+in_place",
        "causal_softmax_grad.group+in_place",
    ] {
        let inputs = vec![Operand::input(&dp), Operand::input(&p)];
        let operands = with_output(kernel, inputs, EXACT);
        cases.push(softmax_case(kernel, (rows, context), operands));
    }
    cases
}

fn rotaries(rows: usize, sizes: Sizes) -> Vec<Case> {
    let mut data = Data::new((rows * 43 + sizes.head_dim) as u64);
    let (context, heads, head_dim) = (sizes.context, sizes.heads, sizes.head_dim);
    let x = Operand::input(&data.reals(rows * 3 * heads * head_dim, 2.0));
    let table = Operand::input(&rotary_table(context, head_dim));
    let mut cases = Vec::new();
    for kernel in ["rotary", "rotary.in_place"] {
        for inverse in [0, 1] {
            let params = Params::new()
                .with("rows", rows)
                .with("context", context)
                .with("heads", heads)
                .with("head_dim", head_dim)
                .with("inverse", inverse);
            let label = format!("{rows} rows, inverse {inverse}, {}", sizes.label());
            // Two products of numbers up to 2 and an addition.
            let operands = with_output(kernel, vec![x.clone(), table.clone()], roundings(3, 2.0));
            let pairs = rows * heads * head_dim / 2;
            cases.push(case(kernel, label, params, operands, pairs));
        }
    }
    cases
}

/// Cosine and sine of each position's angles: t / 10000^(2 i / head_dim).
pub(crate) fn rotary_table(context: usize, head_dim: usize) -> Vec<f32> {
    let angle = |t: usize, i: usize| t as f64 * 1e4f64.powf(-2.0 * i as f64 / head_dim as f64);
    (0..context)
        .flat_map(|t| (0..head_dim / 2).map(move |i| angle(t, i)))
        .flat_map(|a| [a.cos() as f32, a.sin() as f32])
        .collect()
}
