//! Lowering: from a node of the plan to the kernel launches that compute it, for one tier of adapter.

use super::kernel::{Kernel, KernelError, Params, fold_groups, kernel};
use crate::dtype::DType;
use crate::graph::{Accumulate, Axis, Graph, Node, Op, Rule, ValueId, matrix};
use crate::plan::{Cut, PlannedNode};

/// Which rung of a kernel ladder suits an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The adapter is a processor: no workgroup memory, no barriers, large register tiles.
    Processor,
    /// The adapter is a graphics card: tiles in workgroup memory.
    Graphics,
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What runs.
    pub kernel: &'static Kernel,
    /// The values bound to group 0, in order.
    pub bindings: Vec<ValueId>,
    /// The numbers of group 1, binding 0.
    pub params: Params,
    /// Workgroups in each dimension.
    pub groups: [u32; 3],
    /// Multiply-adds it does, for cutting a program into submissions.
    pub multiply_adds: u64,
}

/// The launches of a planned node, one per cut.
///
/// # Errors
/// [`KernelError`] if the node has no kernel; always a defect.
pub fn launches(
    graph: &Graph,
    planned: &PlannedNode,
    tier: Tier,
) -> Result<Vec<Launch>, KernelError> {
    let node = &graph[planned.node];
    let mut all = Vec::with_capacity(planned.cuts.len());
    for cut in &planned.cuts {
        let (name, params, grid) = lower(graph, node, *cut, tier, planned.in_place.is_some());
        let kernel = kernel(&name)?;
        let skipped = usize::from(planned.in_place.is_some());
        let bindings: Vec<ValueId> = node
            .reads
            .iter()
            .skip(skipped)
            .chain(&node.writes)
            .copied()
            .collect();
        if bindings.len() != kernel.bindings.len() {
            return Err(KernelError::Bindings {
                kernel: name,
                expected: kernel.bindings.len(),
                got: bindings.len(),
            });
        }
        let groups = match grid {
            Grid::Invocations(n) => fold_groups(n.div_ceil(kernel.workgroup[0] as usize)),
            Grid::Groups(x, y) => [x as u32, y as u32, 1],
        };
        let multiply_adds = graph.multiply_adds(node) / planned.cuts.len().max(1) as u64;
        all.push(Launch {
            kernel,
            bindings,
            params,
            groups,
            multiply_adds,
        });
    }
    Ok(all)
}

/// How many workgroups a launch has.
enum Grid {
    /// As many as hold this many invocations in one dimension, folded where that is too many.
    Invocations(usize),
    /// This many in x and y.
    Groups(usize, usize),
}

fn lower(
    graph: &Graph,
    node: &Node,
    cut: Cut,
    tier: Tier,
    in_place: bool,
) -> (String, Params, Grid) {
    let output = node.writes.first().map(|v| &graph[*v]);
    let n = output.map_or(0, crate::graph::Value::elements);
    let input = node.reads.first().map_or(&[][..], |v| &graph[*v].shape);
    let (rows, cols) = matrix(input, false);
    let by_vector = Grid::Invocations(n.div_ceil(4));
    let elements = Params::new().with("n", n);
    let named = |stem: &str, features: &[&str]| name(stem, features, in_place);
    match &node.op {
        Op::Matmul {
            trans_a,
            trans_b,
            accumulate,
        } => matmul(graph, node, cut, tier, (*trans_a, *trans_b, *accumulate)),
        Op::Bias => (
            named("bias", &[]),
            Params::new().with("rows", rows).with("cols", cols),
            by_vector,
        ),
        Op::Relu => (named("relu", &[]), elements, by_vector),
        Op::ReluGrad => (named("relu_grad", &[]), elements, by_vector),
        Op::Gelu { tanh } => (
            named("gelu", &[if *tanh { "tanh" } else { "exact" }]),
            elements,
            by_vector,
        ),
        Op::GeluGrad { tanh } => (
            named("gelu_grad", &[if *tanh { "tanh" } else { "exact" }]),
            elements,
            by_vector,
        ),
        Op::Dropout { share, key } => {
            // A share of exactly 0 keeps everything; the largest u32 is as near to 1 as a threshold comes.
            let threshold = (f64::from(*share) * 4_294_967_296.0) as u32;
            let params = elements
                .with("node", *key as usize)
                .with("threshold", threshold as usize);
            (
                named("dropout", &[]),
                params.with_f32("keep_scale", 1.0 / (1.0 - share)),
                by_vector,
            )
        }
        Op::Add => (named("add", &[]), elements, by_vector),
        Op::Scale { factor } => (
            named("scale", &[]),
            elements.with_f32("factor", *factor),
            by_vector,
        ),
        // A reshape has no cut, so it is never lowered; the name makes the mistake visible if it ever is.
        Op::Reshape => ("reshape".into(), Params::new(), by_vector),
        Op::Reduce {
            axis,
            factor,
            per_sample,
            accumulate,
        } => {
            let params = Params::new()
                .with("rows", rows)
                .with("cols", cols)
                .with_f32("factor", *factor)
                .with("accumulate", accumulate_mode(*accumulate))
                .with("per_sample", usize::from(*per_sample));
            let grid = match axis {
                Axis::Rows => Grid::Invocations(cols),
                Axis::Cols => Grid::Invocations(rows),
                Axis::All => Grid::Groups(1, 1),
            };
            (name("reduce", &[axis_name(*axis)], false), params, grid)
        }
        Op::Broadcast { axis, factor } => {
            let (rows, cols) = matrix(output.map_or(&[][..], |v| &v.shape), false);
            let params = Params::new()
                .with("rows", rows)
                .with("cols", cols)
                .with_f32("factor", *factor);
            (
                name("broadcast", &[axis_name(*axis)], false),
                params,
                by_vector,
            )
        }
        Op::CrossEntropy => (
            "cross_entropy".into(),
            Params::new().with("rows", rows).with("classes", cols),
            Grid::Invocations(rows),
        ),
        Op::CrossEntropyGrad => (
            named("cross_entropy_grad", &[]),
            Params::new().with("rows", rows).with("classes", cols),
            by_vector,
        ),
        Op::Correct => (
            "correct".into(),
            Params::new().with("rows", rows).with("classes", cols),
            Grid::Invocations(rows),
        ),
        Op::Cast { from, to } => (
            name("cast", &[&format!("{}_{}", from.name(), to.name())], false),
            elements,
            by_vector,
        ),
        Op::NormPartials { offset } => {
            let params = Params::new().with("n", rows * cols).with("offset", *offset);
            (
                "norm_partials".into(),
                params,
                Grid::Groups(crate::graph::NORM_PARTIALS, 1),
            )
        }
        Op::NormFinish => (
            "norm_finish".into(),
            Params::new().with("count", rows * cols),
            Grid::Groups(1, 1),
        ),
        Op::Update(rule) => update(*rule, elements, by_vector),
    }
}

fn update(rule: Rule, n: Params, grid: Grid) -> (String, Params, Grid) {
    match rule {
        Rule::Sgd { weight_decay } => {
            ("sgd".into(), n.with_f32("weight_decay", weight_decay), grid)
        }
        Rule::Momentum {
            momentum,
            nesterov,
            weight_decay,
        } => {
            let features: &[&str] = if nesterov { &["nesterov"] } else { &[] };
            let params = n
                .with_f32("momentum", momentum)
                .with_f32("weight_decay", weight_decay);
            (name("momentum", features, false), params, grid)
        }
        Rule::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
            decoupled,
        } => {
            let features: &[&str] = if decoupled { &["decoupled"] } else { &[] };
            let params = n
                .with_f32("beta1", beta1)
                .with_f32("beta2", beta2)
                .with_f32("eps", eps);
            (
                name("adam", features, false),
                params.with_f32("weight_decay", weight_decay),
                grid,
            )
        }
    }
}

/// Chooses the rung of the matrix product: by kind of adapter, then by whether the sizes suit it.
fn matmul(
    graph: &Graph,
    node: &Node,
    cut: Cut,
    tier: Tier,
    (trans_a, trans_b, accumulate): (bool, bool, Accumulate),
) -> (String, Params, Grid) {
    let (m, k) = matrix(&graph[node.reads[0]].shape, trans_a);
    let (_, n) = matrix(&graph[node.reads[1]].shape, trans_b);
    let sizes = Params::new()
        .with("m", m)
        .with("n", n)
        .with("k", k)
        .with("row0", cut.row0)
        .with("rows", cut.rows);
    let sizes = sizes.with("accumulate", accumulate_mode(accumulate));
    let tiles = Grid::Groups(n.div_ceil(64), cut.rows.div_ceil(64));
    let f32s = node.reads.iter().all(|v| graph[*v].dtype == DType::F32);
    debug_assert!(
        f32s,
        "matrix products of other formats come with mixed precision"
    );
    // The register rung reads rows as vectors of 4; see the head of its file for which lengths that concerns.
    let lengths_suit = match (trans_a, trans_b) {
        (false, _) => n % 4 == 0 && k % 4 == 0,
        (true, false) => n % 4 == 0 && m % 4 == 0,
        (true, true) => n % 4 == 0 && m % 4 == 0 && k % 4 == 0,
    };
    if tier == Tier::Processor && lengths_suit {
        let letter = |transposed| if transposed { 't' } else { 'n' };
        return (
            format!("matmul_register.{}{}", letter(trans_a), letter(trans_b)),
            sizes,
            tiles,
        );
    }
    let (a_row, a_col) = if trans_a { (1, m) } else { (k, 1) };
    let (b_row, b_col) = if trans_b { (1, k) } else { (n, 1) };
    let params = sizes
        .with("a_row", a_row)
        .with("a_col", a_col)
        .with("b_row", b_row)
        .with("b_col", b_col);
    match tier {
        Tier::Graphics => ("matmul_tiled".into(), params, tiles),
        Tier::Processor => (
            "matmul_naive".into(),
            params,
            Grid::Groups(n.div_ceil(8), cut.rows.div_ceil(8)),
        ),
    }
}

fn name(stem: &str, features: &[&str], in_place: bool) -> String {
    let mut all = features.to_vec();
    if in_place {
        all.push("in_place");
    }
    if all.is_empty() {
        stem.to_owned()
    } else {
        format!("{stem}.{}", all.join("+"))
    }
}

fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::Rows => "rows",
        Axis::Cols => "cols",
        Axis::All => "all",
    }
}

fn accumulate_mode(accumulate: Accumulate) -> usize {
    match accumulate {
        Accumulate::Overwrite => 0,
        Accumulate::OverWindow => 1,
        Accumulate::Always => 2,
    }
}
