//! Lowering: from a node of the plan to the kernel launches that compute it, for one tier of adapter.

mod image;
mod text;

use super::kernel::{Kernel, KernelError, Params, fold_groups, kernel};
use crate::graph::{Accumulate, Axis, Graph, NORM_PARTIALS, Node, Op, Rule, ValueId, matrix};
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
    /// What is bound to group 0, in order.
    pub bindings: Vec<Binding>,
    /// The numbers of group 1, binding 0.
    pub params: Params,
    /// Workgroups in each dimension.
    pub groups: [u32; 3],
    /// Multiply-adds it does, for cutting a program into submissions.
    pub multiply_adds: u64,
}

/// A value bound to a kernel, from one of its bytes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The value.
    pub value: ValueId,
    /// First byte; a multiple of 256.
    pub offset_bytes: u64,
}

impl From<ValueId> for Binding {
    fn from(value: ValueId) -> Self {
        Self {
            value,
            offset_bytes: 0,
        }
    }
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
        let in_place = planned.in_place.is_some();
        let Lowered {
            name,
            params,
            grid,
            bindings,
        } = lower(graph, node, *cut, tier, in_place);
        let kernel = kernel(&name)?;
        let bindings = bindings.unwrap_or_else(|| {
            let reads = node.reads.iter().skip(usize::from(in_place));
            reads.chain(&node.writes).map(|v| (*v).into()).collect()
        });
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
            Grid::Each(n) => fold_groups(n),
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
#[derive(Clone, Copy)]
enum Grid {
    /// As many as hold this many invocations in one dimension, folded where that is too many.
    Invocations(usize),
    /// This many in x and y.
    Groups(usize, usize),
    /// This many in one dimension, folded where that is too many.
    Each(usize),
}

/// A launch in the making.
struct Lowered {
    name: String,
    params: Params,
    grid: Grid,
    /// What is bound, where that is not what the node reads and then what it writes.
    bindings: Option<Vec<Binding>>,
}

impl From<(String, Params, Grid)> for Lowered {
    fn from((name, params, grid): (String, Params, Grid)) -> Self {
        Self {
            name,
            params,
            grid,
            bindings: None,
        }
    }
}

fn lower(graph: &Graph, node: &Node, cut: Cut, tier: Tier, in_place: bool) -> Lowered {
    match &node.op {
        Op::Matmul {
            trans_a,
            trans_b,
            accumulate,
        } => {
            let (m, k) = matrix(&graph[node.reads[0]].shape, *trans_a);
            let (_, n) = matrix(&graph[node.reads[1]].shape, *trans_b);
            let product = Product {
                sizes: [m, n, k],
                trans_a: *trans_a,
                trans_b: *trans_b,
                accumulate: *accumulate,
            };
            matmul(product, (cut.row0, cut.rows), tier).into()
        }
        Op::Reduce { .. }
        | Op::Broadcast { .. }
        | Op::CrossEntropy
        | Op::CrossEntropyGrad
        | Op::Correct { .. }
        | Op::NormPartials { .. }
        | Op::NormFinish
        | Op::Bias => by_row(graph, node, tier, in_place).into(),
        Op::Image(op) => image::lower(graph, node, op, cut, in_place).into(),
        Op::Text(op) => text::lower(graph, node, op, cut, tier, in_place),
        _ => by_element(graph, node, in_place).into(),
    }
}

/// How rows are summed up: by one invocation each where a barrier is slow, by a workgroup each where cores are many.
fn row_tier(tier: Tier, rows: usize) -> (&'static str, Grid) {
    match tier {
        Tier::Processor => ("row", Grid::Invocations(rows)),
        Tier::Graphics => ("group", Grid::Each(rows)),
    }
}

/// Operations that treat every element alike; an invocation computes four of them.
fn by_element(graph: &Graph, node: &Node, in_place: bool) -> (String, Params, Grid) {
    let n = output_elements(graph, node);
    let grid = Grid::Invocations(n.div_ceil(4));
    let params = Params::new().with("n", n);
    let gelu = |tanh: bool| if tanh { "tanh" } else { "exact" };
    let (name, params) = match &node.op {
        Op::Gelu { tanh } => (name("gelu", &[gelu(*tanh)], in_place), params),
        Op::GeluGrad { tanh } => (name("gelu_grad", &[gelu(*tanh)], in_place), params),
        Op::Dropout { share, key } => {
            // A share of exactly 0 keeps everything; the largest u32 is as near to 1 as a threshold comes.
            let threshold = (f64::from(*share) * 4_294_967_296.0) as u32;
            let params = params
                .with("node", *key as usize)
                .with("threshold", threshold as usize);
            let params = params.with_f32("keep_scale", 1.0 / (1.0 - share));
            (name("dropout", &[], in_place), params)
        }
        Op::Scale { factor } => (
            name("scale", &[], in_place),
            params.with_f32("factor", *factor),
        ),
        Op::Cast { from, to } => {
            let feature = format!("{}_{}", from.name(), to.name());
            (name("cast", &[&feature], false), params)
        }
        Op::Update(rule) => update(*rule, params),
        // relu, relu_grad and add have nothing to say but their length. A reshape has no cut, so it never comes here.
        other => (name(other.name(), &[], in_place), params),
    };
    (name, params, grid)
}

/// Operations that see their input as a matrix, or are sums over all of it.
fn by_row(graph: &Graph, node: &Node, tier: Tier, in_place: bool) -> (String, Params, Grid) {
    let input = node.reads.first().map_or(&[][..], |v| &graph[*v].shape);
    let (rows, cols) = matrix(input, false);
    let by_vector = Grid::Invocations(output_elements(graph, node).div_ceil(4));
    let classes = Params::new().with("rows", rows).with("classes", cols);
    let sizes = Params::new().with("rows", rows).with("cols", cols);
    match &node.op {
        Op::Reduce {
            axis,
            factor,
            per_sample,
            accumulate,
        } => {
            let params = sizes
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
            let output = node.writes.first().map_or(&[][..], |v| &graph[*v].shape);
            let (rows, cols) = matrix(output, false);
            let params = Params::new().with("rows", rows).with("cols", cols);
            let params = params.with_f32("factor", *factor);
            (
                name("broadcast", &[axis_name(*axis)], false),
                params,
                by_vector,
            )
        }
        Op::CrossEntropy => {
            let (how, grid) = row_tier(tier, rows);
            (name("cross_entropy", &[how], false), classes, grid)
        }
        Op::Correct { k } => (
            "correct".into(),
            classes.with("k", *k),
            Grid::Invocations(rows),
        ),
        Op::CrossEntropyGrad => (
            name("cross_entropy_grad", &[], in_place),
            classes,
            by_vector,
        ),
        Op::NormPartials { offset } => {
            let params = Params::new().with("n", rows * cols).with("offset", *offset);
            (
                "norm_partials".into(),
                params,
                Grid::Groups(NORM_PARTIALS, 1),
            )
        }
        Op::NormFinish => {
            let params = Params::new().with("count", rows * cols);
            ("norm_finish".into(), params, Grid::Groups(1, 1))
        }
        other => (name(other.name(), &[], in_place), sizes, by_vector),
    }
}

fn output_elements(graph: &Graph, node: &Node) -> usize {
    node.writes.first().map_or(0, |v| graph[*v].elements())
}

fn update(rule: Rule, n: Params) -> (String, Params) {
    match rule {
        Rule::Sgd { weight_decay } => ("sgd".into(), n.with_f32("weight_decay", weight_decay)),
        Rule::Momentum {
            momentum,
            nesterov,
            weight_decay,
        } => {
            let features: &[&str] = if nesterov { &["nesterov"] } else { &[] };
            let params = n
                .with_f32("momentum", momentum)
                .with_f32("weight_decay", weight_decay);
            (name("momentum", features, false), params)
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
            )
        }
    }
}

/// A matrix product: its sizes m, n, k and how its sides are stored.
#[derive(Clone, Copy)]
struct Product {
    sizes: [usize; 3],
    trans_a: bool,
    trans_b: bool,
    accumulate: Accumulate,
}

/// Chooses the rung of the matrix product: by kind of adapter, then by whether the sizes suit it.
fn matmul(product: Product, (row0, rows): (usize, usize), tier: Tier) -> (String, Params, Grid) {
    let Product {
        sizes: [m, n, k],
        trans_a,
        trans_b,
        accumulate,
    } = product;
    let sizes = Params::new()
        .with("m", m)
        .with("n", n)
        .with("k", k)
        .with("row0", row0)
        .with("rows", rows);
    let sizes = sizes.with("accumulate", accumulate_mode(accumulate));
    let tiles = Grid::Groups(n.div_ceil(64), rows.div_ceil(64));
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
            Grid::Groups(n.div_ceil(8), rows.div_ceil(8)),
        ),
    }
}

/// The variant of a kernel that handles four columns at a time, where they are a multiple of 4, and how many an
/// invocation then handles.
fn by_four(cols: usize) -> (&'static [&'static str], usize) {
    if cols.is_multiple_of(4) {
        (&["vec4"], 4)
    } else {
        (&[], 1)
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
