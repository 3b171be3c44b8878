//! Whole small models against PyTorch: gradients of the first step and ten losses, from the files of `tests/reference`.

use crate::common::engine;
use headroom::dtype::DType;
use headroom::engine::{Engine, EngineChoice, Step};
use headroom::experiment::{Optimizer, OptimizerKind};
use headroom::graph::{
    Class, Graph, GraphError, Heads, Init, Phase, Pool, Program, RowNorm, ValueId, Window, backward,
};
use headroom::plan::Plan;
use headroom::technique::{clipping, optimizer};
use serde_json::Value as Json;
use std::sync::Arc;

type Built = Result<ValueId, GraphError>;

/// Largest difference from PyTorch, relative to the largest number of its kind.
const RELATIVE: f64 = 1e-4;

/// A model of `make_reference.py`: what it reads, and how it makes logits of it.
struct Reference {
    file: &'static str,
    text: &'static str,
    samples: usize,
    features: &'static [usize],
    /// Classes, or the vocabulary.
    classes: usize,
    build: fn(&mut Graph, &[ValueId]) -> Built,
}

fn weight(g: &mut Graph, name: &str, shape: &[usize]) -> Built {
    g.parameter(name, shape, Init::Zeros)
}

fn linear(g: &mut Graph, x: ValueId, name: &str, n_in: usize, out: usize) -> Built {
    let w = weight(g, &format!("{name}.weight"), &[n_in, out])?;
    let b = weight(g, &format!("{name}.bias"), &[out])?;
    let y = g.matmul(&format!("{name}.matmul"), x, w, false, false)?;
    g.bias(&format!("{name}.add"), y, b)
}

fn conv(g: &mut Graph, x: ValueId, name: &str, shape: [usize; 4], stride: usize) -> Built {
    let w = weight(g, &format!("{name}.weight"), &shape)?;
    g.conv(name, x, w, Window::same(shape[0], stride), 1)
}

fn norm(g: &mut Graph, x: ValueId, name: &str) -> Built {
    g.batch_norm(name, x, 0.1, 1e-5)
}

fn cnn(g: &mut Graph, inputs: &[ValueId]) -> Built {
    let x = conv(g, inputs[0], "conv0", [3, 3, 2, 4], 1)?;
    let x = norm(g, x, "norm0")?;
    let x = g.relu("relu0", x)?;
    let y = conv(g, x, "conv1", [3, 3, 4, 8], 2)?;
    let y = norm(g, y, "norm1")?;
    let z = conv(g, x, "shortcut", [1, 1, 4, 8], 2)?;
    let z = norm(g, z, "shortcut_norm")?;
    let x = g.add("sum", y, z)?;
    let x = g.relu("relu1", x)?;
    let x = g.pool("max", x, Pool::Max, Window::tiles(2))?;
    let x = g.global_pool("pool", x)?;
    linear(g, x, "head", 8, 5)
}

fn mobilenet_block(g: &mut Graph, inputs: &[ValueId]) -> Built {
    let w = weight(g, "depthwise.weight", &[3, 3, 4])?;
    let x = g.depthwise("depthwise", inputs[0], w, Window::same(3, 2))?;
    let x = norm(g, x, "depthwise_norm")?;
    let x = g.relu6("relu0", x)?;
    let w = weight(g, "pointwise.weight", &[4, 8])?;
    let x = g.matmul("pointwise", x, w, false, false)?;
    let x = norm(g, x, "pointwise_norm")?;
    let x = g.relu6("relu1", x)?;
    let x = g.global_pool("pool", x)?;
    linear(g, x, "head", 8, 5)
}

fn mbconv(g: &mut Graph, inputs: &[ValueId]) -> Built {
    let w = weight(g, "expand.weight", &[4, 16])?;
    let x = g.matmul("expand", inputs[0], w, false, false)?;
    let x = norm(g, x, "expand_norm")?;
    let x = g.silu("silu0", x)?;
    let w = weight(g, "depthwise.weight", &[3, 3, 16])?;
    let x = g.depthwise("depthwise", x, w, Window::same(3, 1))?;
    let x = norm(g, x, "depthwise_norm")?;
    let x = g.silu("silu1", x)?;
    let mean = g.global_pool("squeeze.pool", x)?;
    let gate = linear(g, mean, "squeeze", 16, 2)?;
    let gate = g.silu("squeeze.silu", gate)?;
    let gate = linear(g, gate, "excite", 2, 16)?;
    let gate = g.sigmoid("excite.sigmoid", gate)?;
    let x = g.channel_scale("excite.scale", x, gate)?;
    let w = weight(g, "project.weight", &[16, 4])?;
    let x = g.matmul("project", x, w, false, false)?;
    let x = norm(g, x, "project_norm")?;
    let x = g.add("sum", x, inputs[0])?;
    let x = g.global_pool("pool", x)?;
    linear(g, x, "head", 4, 5)
}

fn transformer_block(g: &mut Graph, inputs: &[ValueId], fused: bool) -> Built {
    let heads = Heads {
        context: 7,
        heads: 2,
    };
    let table = weight(g, "embedding", &[11, 8])?;
    let sorted = (inputs.len() == 3).then(|| [inputs[1], inputs[2]]);
    let x = g.embedding("rows", inputs[0], table, sorted)?;
    let position = weight(g, "position", &[7, 8])?;
    let x = g.reshape("sequences", x, &[3, 56])?;
    let x = g.bias("add_position", x, position)?;
    let x = g.reshape("tokens_again", x, &[21, 8])?;
    let y = g.row_norm("block0.norm1", x, RowNorm::Layer, 1e-5)?;
    let y = linear(g, y, "block0.qkv", 8, 24)?;
    let y = match fused {
        true => g.attention_fused("attention", y, heads)?,
        false => g.attention_plain("attention", y, heads)?,
    };
    let y = linear(g, y, "block0.attention_out", 8, 8)?;
    let x = g.add("sum0", x, y)?;
    let y = g.row_norm("block0.norm2", x, RowNorm::Layer, 1e-5)?;
    let y = linear(g, y, "block0.mlp_in", 8, 32)?;
    let y = g.gelu("gelu", y, true)?;
    let y = linear(g, y, "block0.mlp_out", 32, 8)?;
    let x = g.add("sum1", x, y)?;
    g.row_norm("final_norm", x, RowNorm::Layer, 1e-5)
}

const REFERENCES: &[Reference] = &[
    Reference {
        file: "cnn",
        text: include_str!("../reference/cnn.json"),
        samples: 4,
        features: &[8, 8, 2],
        classes: 5,
        build: cnn,
    },
    Reference {
        file: "mobilenet_block",
        text: include_str!("../reference/mobilenet_block.json"),
        samples: 4,
        features: &[6, 6, 4],
        classes: 5,
        build: mobilenet_block,
    },
    Reference {
        file: "mbconv",
        text: include_str!("../reference/mbconv.json"),
        samples: 4,
        features: &[6, 6, 4],
        classes: 5,
        build: mbconv,
    },
    Reference {
        file: "transformer_block",
        text: include_str!("../reference/transformer_block.json"),
        samples: 3,
        features: &[7],
        classes: 11,
        build: |g, inputs| transformer_block(g, inputs, false),
    },
    Reference {
        file: "transformer_block",
        text: include_str!("../reference/transformer_block.json"),
        samples: 3,
        features: &[7],
        classes: 11,
        build: |g, inputs| transformer_block(g, inputs, true),
    },
];

/// `fill` of `make_reference.py`.
fn fill(p: usize, name: &str, shape: &[usize]) -> Vec<f32> {
    let fan_in: usize = match name.contains("depthwise") && name.ends_with("weight") {
        true => shape[0] * shape[1],
        false => shape[..shape.len() - 1].iter().product(),
    };
    let value = |i: usize| {
        let wave = (0.7 * i as f64 + 1.3 * p as f64 + 0.1).sin();
        let value = match name {
            "embedding" | "position" => 0.5 * wave,
            _ if name.ends_with("gamma") => 1.0 + 0.1 * wave,
            _ if name.ends_with("beta") || name.ends_with("bias") => 0.1 * wave,
            _ => 1.5 / (fan_in as f64).sqrt() * wave,
        };
        value as f32
    };
    (0..shape.iter().product()).map(value).collect()
}

struct Running {
    engine: Box<dyn Engine>,
    plan: Arc<Plan>,
    loss: ValueId,
    step: Step,
}

impl Running {
    fn new(reference: &Reference, expected: &Json, choice: EngineChoice) -> Self {
        let text = reference.features.len() == 1;
        let mut g = Graph::new();
        let shape = [&[reference.samples], reference.features].concat();
        let dtype = if text { DType::U32 } else { DType::F32 };
        let x = g.persistent("x", &shape, dtype, Class::Data);
        let n: usize = shape.iter().product();
        let rows = if text { n } else { reference.samples };
        let mut inputs = vec![x];
        if text {
            inputs.push(g.persistent("order", &[n], DType::U32, Class::Data));
            inputs.push(g.persistent("starts", &[reference.classes + 1], DType::U32, Class::Data));
        }
        let labels = g.persistent("labels", &[rows], DType::U32, Class::Data);
        let loss = g.persistent("loss", &[1], DType::F32, Class::Workspace);
        let finish = |g: &mut Graph, x: ValueId, fused: bool| -> Result<(), GraphError> {
            match (g.find("embedding"), fused) {
                (Some(table), true) => {
                    g.linear_cross_entropy("head", [x, table, labels], true, loss)
                }
                (Some(table), false) => {
                    let logits = g.matmul("head", x, table, false, true)?;
                    g.cross_entropy("cross_entropy", logits, labels, loss)
                }
                (None, _) => g.cross_entropy("cross_entropy", x, labels, loss),
            }
        };
        let out = (reference.build)(&mut g, &inputs).unwrap();
        let fused = g.find("attention.fused").is_some();
        finish(&mut g, out, fused).unwrap();
        backward(&mut g).unwrap();
        g.enter(Program::Update, Phase::Update);
        let clip = clipping::global_norm(&mut g).unwrap();
        optimizer::update(&mut g, &Optimizer::new(OptimizerKind::Sgd, 0.1), clip);
        g.enter(Program::Evaluate, Phase::Forward);
        let out = (reference.build)(&mut g, &inputs[..1]).unwrap();
        finish(&mut g, out, fused).unwrap();

        let plan = Arc::new(Plan::new(g));
        let test = format!("reference/{}", reference.file);
        let mut engine = engine(choice, &test);
        engine.load(plan.clone(), None).unwrap();
        let tokens: Vec<u32> = (0..n)
            .map(|i| ((7 * i + i / 3) % reference.classes) as u32)
            .collect();
        let numbers = |i: usize| (0.37 * i as f64 + 0.2).sin() as f32;
        let words: Vec<u32> = match text {
            true => tokens.clone(),
            false => (0..n).map(|i| numbers(i).to_bits()).collect(),
        };
        engine.upload(x, &words).unwrap();
        if text {
            let mut order: Vec<u32> = (0..n as u32).collect();
            order.sort_by_key(|row| (tokens[*row as usize], *row));
            let below = |v: u32| tokens.iter().filter(|t| **t < v).count() as u32;
            let starts: Vec<u32> = (0..=reference.classes as u32).map(below).collect();
            engine.upload(inputs[1], &order).unwrap();
            engine.upload(inputs[2], &starts).unwrap();
        }
        let (factor, first) = if text { (5, 2) } else { (3, 1) };
        let targets: Vec<u32> = (0..rows)
            .map(|i| ((factor * i + first) % reference.classes) as u32)
            .collect();
        engine.upload(labels, &targets).unwrap();
        for (p, (name, shape)) in expected["shapes"].as_object().unwrap().iter().enumerate() {
            let shape: Vec<usize> = serde_json::from_value(shape.clone()).unwrap();
            let value = plan.graph.find(name).unwrap_or_else(|| panic!("no {name}"));
            assert_eq!(
                plan.graph[value].elements(),
                shape.iter().product::<usize>(),
                "{name}"
            );
            let words: Vec<u32> = fill(p, name, &shape).iter().map(|w| w.to_bits()).collect();
            engine.upload(value, &words).unwrap();
        }
        for (index, value) in plan.graph.values.iter().enumerate() {
            if value.name.ends_with("running_variance") {
                let ones = vec![1f32.to_bits(); value.elements()];
                engine.upload(ValueId(index), &ones).unwrap();
            }
        }
        let step = Step {
            rows: reference.samples as u32,
            inv_samples: 1.0 / rows as f32,
            lr: expected["lr"].as_f64().unwrap() as f32,
            ..Step::default()
        };
        Self {
            engine,
            plan,
            loss,
            step,
        }
    }

    fn run(&mut self, program: Program) {
        pollster::block_on(self.engine.run(program, &self.step)).unwrap();
    }

    fn read(&mut self, name: &str) -> Vec<f64> {
        let value = self
            .plan
            .graph
            .find(name)
            .unwrap_or_else(|| panic!("no {name}"));
        self.read_value(value)
    }

    fn read_value(&mut self, value: ValueId) -> Vec<f64> {
        let words = pollster::block_on(self.engine.read(value)).unwrap();
        words
            .into_iter()
            .map(|w| f64::from(f32::from_bits(w)))
            .collect()
    }
}

fn numbers(json: &Json) -> Vec<f64> {
    serde_json::from_value(json.clone()).unwrap()
}

/// Compares with what stands in the file, relative to its largest number.
fn agree(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-3f64, |size, n| size.max(n.abs()));
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let apart = (got - expected).abs();
        assert!(
            apart <= RELATIVE * size,
            "{what}[{i}]: {got}, PyTorch has {expected}"
        );
    }
}

/// CK-03 too: the running statistics move once per step, by a tenth, and only they are used in evaluation.
#[test]
fn gradients_losses_and_running_statistics_are_those_of_pytorch() {
    for reference in REFERENCES {
        let expected: Json = serde_json::from_str(reference.text).unwrap();
        let by = expected["generated_by"].as_str().unwrap();
        assert!(by.contains("make_reference.py with PyTorch"), "{by}");
        for choice in [EngineChoice::Cpu, EngineChoice::Gpu] {
            let name = format!("{} on {choice:?}", reference.file);
            let mut running = Running::new(reference, &expected, choice);
            let mut losses = Vec::new();
            for step in 1..=10 {
                running.run(Program::Accumulate);
                losses.push(running.read_value(running.loss)[0]);
                if step == 1 {
                    for (parameter, gradient) in expected["gradients"].as_object().unwrap() {
                        let got = running.read(&format!("d_{parameter}"));
                        agree(&format!("{name}: d_{parameter}"), &got, &numbers(gradient));
                    }
                }
                if let Some(norms) = expected["running"][step.to_string()].as_object() {
                    for (norm, statistics) in norms {
                        for (index, which) in
                            ["running_mean", "running_variance"].into_iter().enumerate()
                        {
                            let got = running.read(&format!("{norm}.{which}"));
                            agree(
                                &format!("{name}: {norm}.{which} after {step}"),
                                &got,
                                &numbers(&statistics[index]),
                            );
                        }
                    }
                }
                running.run(Program::Update);
            }
            let expected_losses = numbers(&expected["losses"]);
            assert_eq!((losses.len(), expected_losses.len()), (10, 10));
            for (step, (got, expected)) in losses.iter().zip(expected_losses).enumerate() {
                agree(&format!("{name}: loss {step}"), &[*got], &[expected]);
            }
            let before = running
                .plan
                .graph
                .find("norm0.running_mean")
                .map(|v| running.read_value(v));
            running.run(Program::Evaluate);
            let loss = running.read_value(running.loss);
            let evaluation = expected["evaluation_loss"].as_f64().unwrap();
            agree(&format!("{name}: evaluation loss"), &loss, &[evaluation]);
            let after = running
                .plan
                .graph
                .find("norm0.running_mean")
                .map(|v| running.read_value(v));
            assert_eq!(before, after, "{name}: an evaluation moves nothing");
        }
    }
}
