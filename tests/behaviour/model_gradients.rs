//! Gradients of whole small models against differences of their loss, group of parameters by group of parameters.

use crate::common::{engine, experiment};
use crate::planning::assert_no_slot_is_shared;
use headroom::data::{Samples, SourceInfo};
use headroom::engine::{Engine, EngineChoice, IGNORE, Step};
use headroom::graph::{Init, Program, ValueId};
use headroom::step::{self, StepPlan};
use std::collections::BTreeSet;

/// A model in one of its forms: a name, the lines of its section, and the samples it sees.
struct Scene {
    name: &'static str,
    model: &'static str,
    samples: fn() -> Samples,
    batch: usize,
}

fn pictures(side: usize, channels: usize) -> Samples {
    Samples::Classes {
        shape: vec![side, side, channels],
        class_names: (0..5).map(|c| c.to_string()).collect(),
    }
}

const fn scene(
    name: &'static str,
    model: &'static str,
    samples: fn() -> Samples,
    batch: usize,
) -> Scene {
    Scene {
        name,
        model,
        samples,
        batch,
    }
}

/// For every family a tiny scene, in which every size is as small as it goes, and a deep one.
const SCENES: &[Scene] = &[
    scene(
        "mlp, tiny",
        "kind = \"mlp\"\nhidden = [1]\nactivation = \"gelu\"",
        || pictures(1, 1),
        2,
    ),
    scene(
        "cnn, tiny",
        "kind = \"cnn\"\nwidth = 1\nstages = 1\ndepth = 4",
        || pictures(2, 1),
        2,
    ),
    scene(
        "cnn, deep",
        "kind = \"cnn\"\nwidth = 4\nstages = 3\ndepth = 14",
        || pictures(10, 3),
        6,
    ),
    scene(
        "cnn without residuals",
        "kind = \"cnn\"\nwidth = 4\nstages = 2\ndepth = 6\nresidual = false",
        || pictures(8, 2),
        4,
    ),
    scene(
        "cnn with mean pooling",
        "kind = \"cnn\"\nwidth = 3\nstages = 2\ndepth = 6\nresidual = false\npool = \"average\"",
        || pictures(7, 2),
        4,
    ),
    scene(
        "mobilenet, tiny",
        "kind = \"mobilenet\"\nwidth = 0.1\nlayers = 1",
        || pictures(2, 1),
        2,
    ),
    scene(
        "mobilenet, deep",
        "kind = \"mobilenet\"\nwidth = 0.1\nlayers = 5",
        || pictures(6, 3),
        5,
    ),
    scene(
        "efficientnet, tiny",
        "kind = \"efficientnet\"\nwidth = 0.1\nstages = 1",
        || pictures(2, 1),
        2,
    ),
    scene(
        "efficientnet, deep",
        "kind = \"efficientnet\"\nwidth = 0.1\nlayers = 0.5\nstages = 4\ncompound = 1",
        || pictures(9, 2),
        4,
    ),
    scene(
        "transformer, tiny",
        "kind = \"transformer\"\nlayers = 1\nwidth = 1\nheads = 1\ncontext = 1",
        || Samples::Text { vocabulary: 2 },
        1,
    ),
    scene(
        "transformer, deep",
        "kind = \"transformer\"\nlayers = 4\nwidth = 12\nheads = 3\ncontext = 9",
        || Samples::Text { vocabulary: 11 },
        3,
    ),
    scene(
        "transformer, plain forms",
        "kind = \"transformer\"\nlayers = 2\nwidth = 12\nheads = 2\ncontext = 9\nattention = \"plain\"\nloss = \"plain\"",
        || Samples::Text { vocabulary: 11 },
        3,
    ),
    scene(
        "transformer, the other choices",
        "kind = \"transformer\"\nlayers = 2\nwidth = 16\nheads = 2\ncontext = 10\npositions = \"rotary\"\nnorm = \"rms\"\nmlp = \"swiglu\"\ntied = false\ndropout = 0.2",
        || Samples::Text { vocabulary: 13 },
        2,
    ),
    scene(
        "transformer, head of its own in plain form",
        "kind = \"transformer\"\nlayers = 1\nwidth = 8\nheads = 2\ncontext = 70\ntied = false\nloss = \"plain\"",
        || Samples::Text { vocabulary: 7 },
        2,
    ),
];

struct Running {
    engine: Box<dyn Engine>,
    step: StepPlan,
    n_targets: usize,
    rows: usize,
}

/// Numbers without pattern, the same in every run.
fn wave(i: usize, scale: f64) -> f32 {
    ((((i * 37 + 11) as f64 * 0.618).sin() * 43_758.545).fract() * scale) as f32
}

impl Running {
    fn new(scene: &Scene, choice: EngineChoice) -> Self {
        let text = matches!((scene.samples)(), Samples::Text { .. });
        let source = if text { "austen" } else { "fashion-mnist" };
        let experiment = experiment(&format!(
            "[model]\n{}\n[data]\nsource = \"{source}\"\nbatch = {}\n[train]\nsteps = 1\noptimizer = {{ kind = \"sgd\", lr = 0.1 }}\n",
            scene.model, scene.batch
        ));
        let info = SourceInfo {
            name: source.into(),
            samples: (scene.samples)(),
        };
        let step = step::plan(&experiment, &info).unwrap();
        let mut engine = engine(choice, &format!("model_gradients/{}", scene.name));
        engine.load(step.plan.clone(), None).unwrap();
        let mut running = Self {
            engine,
            step,
            n_targets: 0,
            rows: scene.batch,
        };
        running.fill();
        running
    }

    /// Puts a batch and weights in place. One sample is padding where there are more than two.
    fn fill(&mut self) {
        let graph = &self.step.plan.graph;
        let elements = |value: ValueId| graph[value].elements();
        let (n, n_labels) = (elements(self.step.features), elements(self.step.labels));
        let padded = if self.rows > 2 {
            self.rows - 1
        } else {
            self.rows
        };
        let (inputs, classes) = match self.step.text {
            Some(text) => (
                (0..n)
                    .map(|i| (i * 7 + i / 3) as u32 % text.vocabulary as u32)
                    .collect(),
                text.vocabulary,
            ),
            None => (
                (0..n).map(|i| wave(i, 1.0).to_bits()).collect::<Vec<u32>>(),
                5,
            ),
        };
        let per_sample = n_labels / self.rows;
        let labels: Vec<u32> = (0..n_labels)
            .map(|i| match i < padded * per_sample {
                true => (i * 3 + 1) as u32 % classes as u32,
                false => IGNORE,
            })
            .collect();
        self.n_targets = padded * per_sample;
        self.rows = padded;
        if let Some(text) = self.step.text {
            let mut order: Vec<u32> = (0..n as u32).collect();
            order.sort_by_key(|row| (inputs[*row as usize], *row));
            let starts: Vec<u32> = (0..=text.vocabulary as u32)
                .map(|token| inputs.iter().filter(|t| **t < token).count() as u32)
                .collect();
            self.engine.upload(text.order, &order).unwrap();
            self.engine.upload(text.starts, &starts).unwrap();
        }
        self.engine.upload(self.step.features, &inputs).unwrap();
        self.engine.upload(self.step.labels, &labels).unwrap();
        for (index, value) in self.step.plan.graph.values.clone().iter().enumerate() {
            let n = value.elements();
            let words: Vec<f32> = match value.init {
                None => continue,
                Some(Init::Uniform { bound }) => {
                    let scale = f64::from(bound).max(0.25);
                    (0..n).map(|i| wave(i * 5 + index * 101, scale)).collect()
                }
                Some(Init::Zeros) => (0..n).map(|i| wave(i + index, 0.2)).collect(),
                Some(Init::Ones) => (0..n).map(|i| 1.0 + wave(i + index, 0.2)).collect(),
                Some(Init::Rotary) => {
                    let cols = *value.shape.last().unwrap();
                    let angle = |i: usize| (i / cols) as f32 * 0.3 / ((i % cols) / 2 + 1) as f32;
                    let turn = |i: usize| {
                        if i.is_multiple_of(2) {
                            angle(i).cos()
                        } else {
                            angle(i).sin()
                        }
                    };
                    (0..n).map(turn).collect()
                }
            };
            self.upload(ValueId(index), &words);
        }
    }

    fn upload(&mut self, value: ValueId, floats: &[f32]) {
        let words: Vec<u32> = floats.iter().map(|f| f.to_bits()).collect();
        self.engine.upload(value, &words).unwrap();
    }

    fn floats(&mut self, value: ValueId) -> Vec<f32> {
        let words = pollster::block_on(self.engine.read(value)).unwrap();
        words.into_iter().map(f32::from_bits).collect()
    }

    fn loss(&mut self) -> f64 {
        let step = Step {
            seed: 3,
            rows: self.rows as u32,
            inv_samples: 1.0 / self.n_targets as f32,
            ..Step::default()
        };
        pollster::block_on(self.engine.run(Program::Accumulate, &step)).unwrap();
        f64::from(self.floats(self.step.loss)[0])
    }

    /// The slope of the loss along `direction` of a parameter, from losses on both sides.
    fn slope(&mut self, value: ValueId, weights: &[f32], direction: &[f32], h: f32) -> f64 {
        let moved = |sign: f32| -> Vec<f32> {
            let pairs = weights.iter().zip(direction);
            pairs.map(|(w, d)| w + sign * h * d).collect()
        };
        self.upload(value, &moved(1.0));
        let above = self.loss();
        self.upload(value, &moved(-1.0));
        let below = self.loss();
        self.upload(value, weights);
        (above - below) / (2.0 * f64::from(h))
    }
}

fn length(v: &[f32]) -> f32 {
    v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32
}

/// Along its own gradient the loss grows by the gradient's length; along any other direction by its share of it.
fn check(scene: &Scene, choice: EngineChoice) -> (usize, Vec<String>) {
    let mut running = Running::new(scene, choice);
    let mut wrong = Vec::new();
    let parameters = running.step.plan.graph.parameters.clone();
    for (index, parameter) in parameters.iter().enumerate() {
        let weights = running.floats(parameter.value);
        running.loss();
        let gradient = running.floats(parameter.gradient.unwrap());
        let size = length(&gradient);
        let along: Vec<f32> = gradient.iter().map(|g| g / size.max(1e-12)).collect();
        let other: Vec<f32> = (0..weights.len()).map(|i| wave(i + index, 1.0)).collect();
        let norm = length(&other);
        let other: Vec<f32> = other.iter().map(|x| x / norm).collect();
        for (what, direction) in [("its gradient", &along), ("another direction", &other)] {
            let expected: f64 = gradient
                .iter()
                .zip(direction)
                .map(|(g, d)| f64::from(g * d))
                .sum();
            // Small steps cross few kinks but drown in rounding, large ones bend: the best one counts.
            let mut numeric = Vec::new();
            let agrees = [1e-3, 4e-3, 2e-4, 5e-5].into_iter().any(|h| {
                let slope = running.slope(parameter.value, &weights, direction, h);
                numeric.push(slope);
                (slope - expected).abs() <= 5e-4 + 1e-2 * f64::from(size)
            });
            if !agrees {
                let name = &running.step.plan.graph[parameter.value].name;
                wrong.push(format!(
                    "{choice:?} {}: {name} along {what}: {expected}, differences say {numeric:?}",
                    scene.name
                ));
            }
        }
    }
    let plan = running.step.plan.clone();
    let measured = running.engine.ledger().moments();
    let planned = plan.timeline();
    let accumulate = planned.iter().filter(|m| m.program == Program::Accumulate);
    assert!(
        measured.iter().eq(accumulate),
        "{}: the timeline is not as planned",
        scene.name
    );
    assert_no_slot_is_shared(&plan, scene.name);
    (2 * parameters.len(), wrong)
}

#[test]
fn gradients_of_every_parameter_of_every_model_equal_differences_of_the_loss() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for choice in [EngineChoice::Cpu, EngineChoice::Gpu] {
        for scene in SCENES {
            let (n, failures) = check(scene, choice);
            checked += n;
            wrong.extend(failures);
        }
    }
    assert!(checked > 800, "only {checked} directions");
    assert!(
        wrong.is_empty(),
        "{} of {checked} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_kind_of_model_has_a_tiny_and_a_deep_scene() {
    let kinds: BTreeSet<&str> = SCENES
        .iter()
        .map(|s| s.model.split('"').nth(1).unwrap())
        .collect();
    let expected = ["cnn", "efficientnet", "mlp", "mobilenet", "transformer"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
}
