//! The gradient of every operation against finite differences of the loss, on both engines.

use crate::common::engine;
use crate::layer_scenes::LAYER_SCENES;
use crate::planning::assert_no_slot_is_shared;
use headroom::dtype::DType;
use headroom::engine::{Engine, EngineChoice, Step};
use headroom::graph::{
    Axis, Class, Graph, GraphError, ImageOp, Init, Op, Phase, Program, TextOp, ValueId, backward,
};
use headroom::plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) const ROWS: usize = 6;
pub(crate) const WIDTH: usize = 8;
const CLASSES: usize = 5;

pub(crate) type Build = fn(&mut Graph, ValueId) -> Result<ValueId, GraphError>;

/// Each scene turns hidden values [ROWS, WIDTH], which depend on parameters, into values that the head reads.
const SCENES: &[(&str, &[&str], Build)] = &[
    ("plain", &["matmul", "bias", "cross_entropy"], |_, x| Ok(x)),
    ("relu", &["relu"], |g, x| g.relu("relu", x)),
    ("gelu exact", &["gelu"], |g, x| g.gelu("gelu", x, false)),
    ("gelu tanh", &["gelu"], |g, x| g.gelu("gelu", x, true)),
    ("dropout", &["dropout"], |g, x| g.dropout("dropout", x, 0.4)),
    ("residual", &["add"], |g, x| {
        let y = g.gelu("gelu", x, false)?;
        g.add("sum", x, y)
    }),
    ("value added to itself", &["add"], |g, x| g.add("sum", x, x)),
    ("scale", &["scale"], |g, x| g.scale("scale", x, -1.7)),
    ("reshape", &["reshape"], |g, x| {
        let flat = g.reshape("flat", x, &[ROWS * 2, WIDTH / 2])?;
        let y = g.gelu("gelu", flat, false)?;
        g.reshape("back", y, &[ROWS, WIDTH])
    }),
    ("reduce over columns", &["reduce"], |g, x| {
        let sums = g.reduce("sums", x, Axis::Cols, 0.5)?;
        let column = g.reshape("column", sums, &[ROWS, 1])?;
        let w = g.parameter("spread", &[1, WIDTH], Init::Uniform { bound: 0.9 })?;
        g.matmul("spread.matmul", column, w, false, false)
    }),
    ("reduce over rows", &["reduce"], |g, x| {
        let sums = g.reduce("sums", x, Axis::Rows, 0.25)?;
        let row = g.reshape("row", sums, &[1, WIDTH])?;
        let ones = g.parameter("tall", &[ROWS, 1], Init::Uniform { bound: 0.9 })?;
        g.matmul("tall.matmul", ones, row, false, false)
    }),
    ("reduce over all", &["reduce"], |g, x| {
        let sum = g.reduce("sum", x, Axis::All, 0.1)?;
        let one = g.reshape("one", sum, &[1, 1])?;
        let column = g.parameter("tall", &[ROWS, 1], Init::Uniform { bound: 0.9 })?;
        let row = g.parameter("spread", &[1, WIDTH], Init::Uniform { bound: 0.9 })?;
        let tall = g.matmul("tall.matmul", column, one, false, false)?;
        g.matmul("spread.matmul", tall, row, false, false)
    }),
    ("parameter added as it is", &["add"], |g, x| {
        let w = g.parameter("offset", &[ROWS, WIDTH], Init::Uniform { bound: 0.5 })?;
        g.add("sum", w, x)
    }),
    ("left side transposed", &["matmul"], |g, x| {
        let w = g.parameter("mix", &[ROWS, ROWS], Init::Uniform { bound: 0.7 })?;
        g.matmul("mixed", w, x, true, false)
    }),
    ("right side transposed", &["matmul"], |g, x| {
        let w = g.parameter("mix", &[WIDTH, WIDTH], Init::Uniform { bound: 0.7 })?;
        g.matmul("mixed", x, w, false, true)
    }),
    ("both sides transposed", &["matmul"], |g, x| {
        let x = g.reshape("tall", x, &[WIDTH, ROWS])?;
        let w = g.parameter("mix", &[ROWS, ROWS], Init::Uniform { bound: 0.7 })?;
        g.matmul("mixed", w, x, true, true)
    }),
    ("one weight used twice", &["matmul"], |g, x| {
        let w = g.parameter("mix", &[WIDTH, WIDTH], Init::Uniform { bound: 0.7 })?;
        let y = g.matmul("once", x, w, false, false)?;
        g.matmul("twice", y, w, false, true)
    }),
];

/// The scenes of the layers that look at pictures and of those that read text.
fn scenes() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str], Build)> {
    SCENES.iter().chain(LAYER_SCENES)
}

struct Scene {
    engine: Box<dyn Engine>,
    plan: Arc<Plan>,
    loss: ValueId,
}

impl Scene {
    fn new(build: Build, choice: EngineChoice, name: &str) -> Self {
        let mut graph = Graph::new();
        let x = graph.persistent("x", &[ROWS, 3], DType::F32, Class::Data);
        let labels = graph.persistent("labels", &[ROWS], DType::U32, Class::Data);
        let loss = graph.persistent("loss", &[1], DType::F32, Class::Workspace);
        let w = graph
            .parameter("first.weight", &[3, WIDTH], Init::Uniform { bound: 1.0 })
            .unwrap();
        let b = graph
            .parameter("first.bias", &[WIDTH], Init::Uniform { bound: 0.5 })
            .unwrap();
        let hidden = graph.matmul("first.matmul", x, w, false, false).unwrap();
        let hidden = graph.bias("first.bias_add", hidden, b).unwrap();
        let built = build(&mut graph, hidden).unwrap();
        let head = graph
            .parameter(
                "head.weight",
                &[WIDTH, CLASSES],
                Init::Uniform { bound: 1.0 },
            )
            .unwrap();
        let logits = graph
            .matmul("head.matmul", built, head, false, false)
            .unwrap();
        graph
            .cross_entropy("cross_entropy", logits, labels, loss)
            .unwrap();
        backward(&mut graph).unwrap();
        let plan = Arc::new(Plan::new(graph));
        let mut engine = engine(choice, &format!("finite_differences/{name}"));
        engine.load(plan.clone(), None).unwrap();
        let data: Vec<u32> = (0..ROWS * 3).map(|i| wave(i, 1.3).to_bits()).collect();
        engine.upload(x, &data).unwrap();
        if let Some(angles) = plan.graph.find("angles") {
            let n = plan.graph[angles].elements();
            let words: Vec<u32> = (0..n).map(|i| wave(i, 1.0).to_bits()).collect();
            engine.upload(angles, &words).unwrap();
        }
        // One row is padding: it must add nothing.
        let mut targets: Vec<u32> = (0..ROWS as u32).map(|r| r * 2 % CLASSES as u32).collect();
        targets[3] = headroom::engine::IGNORE;
        engine.upload(labels, &targets).unwrap();
        Self { engine, plan, loss }
    }

    fn loss(&mut self) -> f64 {
        let step = Step {
            seed: 3,
            rows: ROWS as u32,
            inv_samples: 1.0 / (ROWS - 1) as f32,
            ..Step::default()
        };
        pollster::block_on(self.engine.run(Program::Accumulate, &step)).unwrap();
        f64::from(f32::from_bits(
            pollster::block_on(self.engine.read(self.loss)).unwrap()[0],
        ))
    }

    fn floats(&mut self, value: ValueId) -> Vec<f32> {
        pollster::block_on(self.engine.read(value))
            .unwrap()
            .into_iter()
            .map(f32::from_bits)
            .collect()
    }
}

/// Values without pattern and away from the kinks of relu.
fn wave(i: usize, scale: f32) -> f32 {
    let v = ((i * 37 + 11) as f32 * 0.618).sin() * scale;
    v + 0.07 * v.signum()
}

#[test]
fn gradients_equal_finite_differences_for_every_operation() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for choice in [EngineChoice::Cpu, EngineChoice::Gpu] {
        for (name, _, build) in scenes() {
            let mut scene = Scene::new(*build, choice, name);
            let parameters = scene.plan.graph.parameters.clone();
            let mut weights = Vec::new();
            for (index, p) in parameters.iter().enumerate() {
                let n = scene.plan.graph[p.value].elements();
                weights.push(
                    (0..n)
                        .map(|i| wave(i * 5 + index * 101, 0.8))
                        .collect::<Vec<f32>>(),
                );
                upload(&mut scene, p.value, &weights[index]);
            }
            for (index, p) in parameters.iter().enumerate() {
                // Every run of the loss writes the gradients anew, so they are read after one at the point itself.
                scene.loss();
                let gradient = scene.floats(p.gradient.unwrap());
                let stride = (gradient.len() / 7).max(1);
                for i in (0..gradient.len()).step_by(stride) {
                    let h = 4e-3;
                    let mut moved = weights[index].clone();
                    moved[i] = weights[index][i] + h;
                    upload(&mut scene, p.value, &moved);
                    let above = scene.loss();
                    moved[i] = weights[index][i] - h;
                    upload(&mut scene, p.value, &moved);
                    let below = scene.loss();
                    upload(&mut scene, p.value, &weights[index]);
                    let numeric = (above - below) / (2.0 * f64::from(h));
                    let analytic = f64::from(gradient[i]);
                    checked += 1;
                    // The loss is known to about 2e-7, so its difference quotient to 1e-4.
                    let share = (numeric - analytic).abs() / (2e-4 + 2e-3 * numeric.abs());
                    if !share.is_finite() || share > 1.0 {
                        let value = &scene.plan.graph[p.value].name;
                        wrong.push(format!("{choice:?} {name}: {value}[{i}] is {analytic}, differences say {numeric}"));
                    }
                }
            }
            // Reshapes, sums of gradients and weights used twice: what the plan says of them is what happened.
            assert_eq!(
                scene.engine.ledger().moments(),
                scene.plan.timeline(),
                "{name}"
            );
            assert_no_slot_is_shared(&scene.plan, name);
        }
    }
    assert!(checked > 300, "only {checked} directions");
    assert!(
        wrong.is_empty(),
        "{} of {checked} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn upload(scene: &mut Scene, value: ValueId, floats: &[f32]) {
    let words: Vec<u32> = floats.iter().map(|f| f.to_bits()).collect();
    scene.engine.upload(value, &words).unwrap();
}

/// Half precision rounds, so its gradient is checked against what rounding allows, not against small differences.
#[test]
fn the_gradient_of_a_cast_passes_through() {
    for to in [DType::F16, DType::Bf16] {
        let mut graph = Graph::new();
        let labels = graph.persistent("labels", &[ROWS], DType::U32, Class::Data);
        let loss = graph.persistent("loss", &[1], DType::F32, Class::Workspace);
        let w = graph.parameter("w", &[ROWS, CLASSES], Init::Zeros).unwrap();
        let half = graph.cast("half", w, to).unwrap();
        let logits = graph.cast("full", half, DType::F32).unwrap();
        graph
            .cross_entropy("cross_entropy", logits, labels, loss)
            .unwrap();
        backward(&mut graph).unwrap();
        let d_w = graph.parameters[0].gradient.unwrap();
        let plan = Arc::new(Plan::new(graph));
        let mut engine = engine(EngineChoice::Gpu, "the_gradient_of_a_cast_passes_through");
        engine.load(plan, None).unwrap();
        let step = Step {
            inv_samples: 1.0 / ROWS as f32,
            ..Step::default()
        };
        pollster::block_on(engine.run(Program::Accumulate, &step)).unwrap();
        // All logits are 0 and all labels are class 0.
        let gradient = pollster::block_on(engine.read(d_w)).unwrap();
        for (i, word) in gradient.into_iter().enumerate() {
            let expected = (0.2 - f32::from(u8::from(i % CLASSES == 0))) / ROWS as f32;
            assert!(
                (f32::from_bits(word) - expected).abs()
                    < 1e-3 * expected.abs() + 1e-6 + 0.005 * expected.abs(),
                "{to:?} {i}"
            );
        }
    }
}

/// Which operations have a rule in `backward`. A new one does not compile until it is said here.
fn is_differentiable(op: &Op) -> bool {
    match op {
        Op::Matmul { .. }
        | Op::Bias
        | Op::Relu
        | Op::Gelu { .. }
        | Op::Dropout { .. }
        | Op::Add
        | Op::Scale { .. }
        | Op::Reshape
        | Op::Reduce { .. }
        | Op::CrossEntropy => true,
        Op::Image(op) => is_differentiable_image(op),
        Op::Text(op) => is_differentiable_text(op),
        // A cast has a test of its own; a broadcast is made by `backward` alone.
        Op::Cast { .. } | Op::Broadcast { .. } => false,
        Op::ReluGrad
        | Op::GeluGrad { .. }
        | Op::CrossEntropyGrad
        | Op::Correct { .. }
        | Op::NormPartials { .. }
        | Op::NormFinish
        | Op::Update(_) => false,
    }
}

fn is_differentiable_image(op: &ImageOp) -> bool {
    match op {
        ImageOp::Conv { .. }
        | ImageOp::Depthwise { .. }
        | ImageOp::Pool { .. }
        | ImageOp::GlobalPool
        | ImageOp::BatchNorm { .. }
        | ImageOp::ChannelScale
        | ImageOp::Relu6
        | ImageOp::Silu
        | ImageOp::Sigmoid => true,
        // The gradient of batch normalisation goes through its statistics by itself.
        ImageOp::BatchMoments | ImageOp::BatchMomentsFinish { .. } => false,
        ImageOp::ConvInputGrad { .. }
        | ImageOp::ConvWeightGrad { .. }
        | ImageOp::DepthwiseInputGrad { .. }
        | ImageOp::DepthwiseWeightGrad { .. }
        | ImageOp::PoolGrad { .. }
        | ImageOp::GlobalPoolGrad
        | ImageOp::BatchNormGradPartials { .. }
        | ImageOp::BatchNormGrad { .. }
        | ImageOp::ChannelScaleGrad
        | ImageOp::Relu6Grad
        | ImageOp::SiluGrad
        | ImageOp::SigmoidGrad => false,
    }
}

fn is_differentiable_text(op: &TextOp) -> bool {
    match op {
        TextOp::Norm { .. }
        | TextOp::Rotary { .. }
        | TextOp::AttentionMix(_)
        | TextOp::AttentionFused(_)
        | TextOp::Swiglu => true,
        // These read tokens or labels; whole models differentiate them in `model_gradients`.
        TextOp::Embedding | TextOp::LinearCrossEntropy { .. } => false,
        // The gradient of the mixing goes through softmax and scores by itself.
        TextOp::AttentionScores(_) | TextOp::CausalSoftmax { .. } => false,
        TextOp::EmbeddingGrad { .. }
        | TextOp::NormGrad { .. }
        | TextOp::NormGradPartials { .. }
        | TextOp::CausalSoftmaxGrad { .. }
        | TextOp::AttentionMixGrad(_)
        | TextOp::AttentionQkvGrad(_)
        | TextOp::AttentionDelta(_)
        | TextOp::AttentionFusedQueryGrad(_)
        | TextOp::AttentionFusedKeyValueGrad(_)
        | TextOp::SwigluGrad
        | TextOp::PickRow
        | TextOp::LinearCrossEntropyGrad { .. } => false,
    }
}

#[test]
fn every_scene_differentiates_what_it_names_and_every_rule_has_a_scene() {
    let mut covered = BTreeSet::new();
    for (name, ops, build) in scenes() {
        let scene = Scene::new(*build, EngineChoice::Cpu, name);
        let nodes = scene.plan.graph.nodes.iter();
        let forward =
            nodes.filter(|node| node.phase == Phase::Forward && is_differentiable(&node.op));
        let found: BTreeSet<&str> = forward.map(|node| node.op.name()).collect();
        assert!(
            ops.iter().all(|op| found.contains(op)),
            "{name}: {ops:?} in {found:?}"
        );
        covered.extend(found.into_iter().map(str::to_owned));
    }
    assert_eq!(covered.len(), 10 + 10 + 5, "{covered:?}");
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_both_shapes() {
    let mut graph = Graph::new();
    let a = graph.persistent("a", &[4, 3], DType::F32, Class::Data);
    let b = graph.persistent("b", &[5, 2], DType::F32, Class::Data);
    let labels = graph.persistent("labels", &[3], DType::U32, Class::Data);
    let loss = graph.persistent("loss", &[1], DType::F32, Class::Workspace);
    let errors = [
        graph.matmul("product", a, b, false, false).err(),
        graph
            .bias("shift", a, labels)
            .err()
            .filter(|_| false)
            .or_else(|| graph.bias("shift", a, b).err()),
        graph.add("sum", a, b).err(),
        graph.reshape("flat", a, &[5]).err(),
        graph.cross_entropy("loss", a, labels, loss).err(),
        graph.correct("hits", a, labels, 1, loss).err(),
    ];
    let expected = [
        ("matmul", "product", "[4, 3]", "[5, 2]"),
        ("bias", "shift", "[4, 3]", "[5, 2]"),
        ("add", "sum", "[4, 3]", "[5, 2]"),
        ("reshape", "flat", "[4, 3]", "[5]"),
        ("cross_entropy", "loss", "[4, 3]", "[3]"),
        ("correct", "hits", "[4, 3]", "[3]"),
    ];
    for (error, (op, node, left, right)) in errors.into_iter().zip(expected) {
        let text = error.expect(op).to_string();
        for part in [op, node, left, right] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }
}
