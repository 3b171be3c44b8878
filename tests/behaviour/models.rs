//! The plans of whole models: parameters, multiply-adds and bytes, as papers and other programs state them.

use crate::common::experiment;
use headroom::data::{Samples, SourceInfo};
use headroom::experiment::Experiment;
use headroom::graph::Class;
use headroom::report::{Report, plan_report};
use headroom::step::{self, StepPlan};

const ADAM: &str = "[train]\nsteps = 1\noptimizer = { kind = \"adam\", lr = 1e-3 }\n";

pub(crate) fn text(vocabulary: usize) -> SourceInfo {
    SourceInfo {
        name: "austen".into(),
        samples: Samples::Text { vocabulary },
    }
}

pub(crate) fn pictures(side: usize, channels: usize) -> SourceInfo {
    SourceInfo {
        name: "fashion-mnist".into(),
        samples: Samples::Classes {
            shape: vec![side, side, channels],
            class_names: (0..10).map(|c| c.to_string()).collect(),
        },
    }
}

/// An experiment with this model section.
pub(crate) fn model(lines: &str, batch: usize) -> Experiment {
    let source = if lines.contains("transformer") {
        "austen"
    } else {
        "fashion-mnist"
    };
    experiment(&format!(
        "[model]\n{lines}\n[data]\nsource = \"{source}\"\nbatch = {batch}\n{ADAM}"
    ))
}

fn planned(lines: &str, batch: usize, info: &SourceInfo) -> (StepPlan, Report) {
    let experiment = model(lines, batch);
    let step = step::plan(&experiment, info).unwrap();
    let report = plan_report(&experiment, &step);
    (step, report)
}

/// Bytes of everything that the backward pass reads of the forward pass.
fn activations(step: &StepPlan) -> u64 {
    let values = step.plan.graph.values.iter();
    let kept = values.filter(|v| v.class == Class::Activations && !v.persistent);
    // A reshape shows the same bytes under another name.
    let graph = &step.plan.graph;
    kept.filter(|v| {
        let id = graph.find(&v.name).unwrap();
        step.plan.root(id) == id
    })
    .map(headroom::graph::Value::bytes)
    .sum()
}

const GPT: &str = "kind = \"transformer\"\nlayers = 4\nwidth = 128\nheads = 4\n";

#[test]
fn activations_of_plain_attention_grow_with_the_square_of_the_context_of_fused_with_the_context() {
    let bytes = |form: &str, context: usize| {
        let lines = format!("{GPT}context = {context}\nattention = \"{form}\"");
        activations(&planned(&lines, 8, &text(256)).0)
    };
    let fused = [64, 128, 256].map(|context| bytes("fused", context));
    assert_eq!(fused[1], 2 * fused[0], "{fused:?}");
    assert_eq!(fused[2], 2 * fused[1], "{fused:?}");

    // 4 layers, 8 sequences, 4 heads: a score for each pair of positions instead of one number for each position.
    for (context, fused) in [64, 128, 256].into_iter().zip(fused) {
        let plain = bytes("plain", context);
        let pairs = (4 * 8 * 4 * context * context * 4) as u64;
        let log_sum_exp = (4 * 8 * 4 * context * 4) as u64;
        assert_eq!(plain - fused, pairs - log_sum_exp, "context {context}");
    }
}

#[test]
fn the_transformer_takes_nine_tenths_of_what_pytorch_takes_for_it() {
    // PyTorch's own tracker for the same net with plain attention, Adam, F32: 55,402 KiB.
    const PYTORCH_BYTES: u64 = 55_402 * 1024;
    let lines = format!("{GPT}context = 128\ntied = false");
    let (_, fused) = planned(&lines, 8, &text(256));
    assert_eq!(fused.model.parameters, 875_264, "the same net");
    let peak = fused.memory.peak_bytes.predicted;
    assert!(peak * 10 <= PYTORCH_BYTES * 9, "{peak}");

    let lines = format!("{lines}\nattention = \"plain\"\nloss = \"plain\"");
    let (_, plain) = planned(&lines, 8, &text(256));
    let (plain, fused) = (plain.memory.at_peak.by_class, fused.memory.at_peak.by_class);
    assert_eq!(plain.get(Class::Weights), fused.get(Class::Weights));
    assert_eq!(
        plain.get(Class::OptimizerState),
        2 * fused.get(Class::Weights)
    );
    assert!(plain.allocated() > fused.allocated());
}

/// ME-01 and ME-03: a table that is embedding and head is one parameter, with one gradient and one optimizer state.
#[test]
fn tied_weights_are_counted_once_and_marked_where_they_are_shared() {
    let lines =
        "kind = \"transformer\"\nlayers = 1\nwidth = 64\nheads = 2\ncontext = 8\nloss = \"plain\"";
    let table = |report: &Report| {
        let layers = report.model.layers.iter();
        layers
            .filter(|l| ["embedding", "head"].contains(&l.name.as_str()))
            .map(|l| (l.name.clone(), l.parameters, l.shared_parameters))
            .collect::<Vec<_>>()
    };
    let (step, tied) = planned(lines, 2, &text(1000));
    assert_eq!(
        table(&tied),
        [("embedding".into(), 64_000, 0), ("head".into(), 0, 64_000)]
    );
    let graph = &step.plan.graph;
    let parameter = graph.find("embedding").unwrap();
    assert_eq!(graph[parameter].bytes(), 256_000);
    let named = |part: &str| {
        graph
            .values
            .iter()
            .filter(|v| v.name.contains(part))
            .count()
    };
    assert_eq!(
        named("d_embedding"),
        1 + named("d_embedding."),
        "one gradient"
    );
    assert_eq!(named("embedding.mean"), 2, "mean and mean of squares");

    let (_, apart) = planned(&format!("{lines}\ntied = false"), 2, &text(1000));
    assert_eq!(
        table(&apart),
        [("embedding".into(), 64_000, 0), ("head".into(), 64_000, 0)]
    );
    assert_eq!(apart.model.parameters, tied.model.parameters + 64_000);
    let fused = lines.replace("plain", "fused");
    assert_eq!(table(&planned(&fused, 2, &text(1000)).1)[1].2, 64_000);
}

#[test]
fn separable_layers_save_what_the_mobilenet_paper_says() {
    let (_, report) = planned("kind = \"mobilenet\"\nwidth = 0.25", 8, &pictures(28, 1));
    assert_eq!(report.model.separable.len(), 13);
    for pair in &report.model.separable {
        assert!((pair.ratio - pair.formula).abs() < 1e-12, "{pair:?}");
        assert!(pair.multiply_adds < pair.plain_multiply_adds, "{pair:?}");
    }
    let layers: u64 = report.model.layers.iter().map(|l| l.multiply_adds).sum();
    assert_eq!(report.model.forward_multiply_adds, layers);
    let parameters: usize = report.model.layers.iter().map(|l| l.parameters).sum();
    assert_eq!(report.model.parameters, parameters);
}

/// The papers' own totals, with their head of 1,000 classes replaced by ours of 10.
#[test]
fn full_networks_have_the_sizes_of_their_papers() {
    let in_millions = |n: f64, head: usize| (n * 1e6 - (head * 990 + 990) as f64).round();
    let (_, mobilenet) = planned("kind = \"mobilenet\"", 1, &pictures(224, 3));
    let parameters = mobilenet.model.parameters as f64;
    // 4.2 million parameters and 569 million multiply-adds (table 4).
    assert!(
        (parameters / in_millions(4.23, 1024) - 1.0).abs() < 0.01,
        "{parameters}"
    );
    let products = mobilenet.model.forward_multiply_adds as f64;
    assert!((products / 569e6 - 1.0).abs() < 0.01, "{products}");

    let (_, b0) = planned("kind = \"efficientnet\"", 1, &pictures(224, 3));
    let parameters = b0.model.parameters as f64;
    // 5.3 million parameters and 0.39 billion multiply-adds (table 2).
    assert!(
        (parameters / in_millions(5.29, 1280) - 1.0).abs() < 0.01,
        "{parameters}"
    );
    let products = b0.model.forward_multiply_adds as f64;
    assert!((products / 0.39e9 - 1.0).abs() < 0.03, "{products}");
    let (_, b1) = planned(
        "kind = \"efficientnet\"\ncompound = 1",
        1,
        &pictures(224, 3),
    );
    assert!(b1.model.layers.len() > b0.model.layers.len());
    assert!(b1.model.parameters > b0.model.parameters);
}

#[test]
fn models_refuse_samples_they_cannot_take() {
    for (lines, info, parts) in [
        ("kind = \"cnn\"", text(256), ["cnn", "a text"]),
        (
            "kind = \"mlp\"\nhidden = [4]",
            text(256),
            ["mlp", "transformer"],
        ),
        (
            "kind = \"transformer\"",
            pictures(28, 1),
            ["transformer", "data.source"],
        ),
        (
            "kind = \"mobilenet\"",
            SourceInfo {
                name: "csv".into(),
                samples: Samples::Classes {
                    shape: vec![12],
                    class_names: vec!["a".into(), "b".into()],
                },
            },
            ["mobilenet", "[12]"],
        ),
    ] {
        let error = step::plan(&model(lines, 4), &info).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    }
    // Every halving needs two pixels.
    let lines = "kind = \"cnn\"\nresidual = false\nstages = 4\ndepth = 10";
    let error = step::plan(&model(lines, 4), &pictures(4, 1))
        .unwrap_err()
        .to_string();
    assert!(error.contains("fewer stages"), "{error}");
}
