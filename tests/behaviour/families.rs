//! Every family of models trained: both engines, plain and fused forms, evaluation, sampling, and the ends of epochs.

use crate::common::{experiment, losses, tiny_data, tiny_text, train, trainer};
use headroom::data::Split;
use headroom::engine::{EngineChoice, EngineError};
use headroom::experiment::Experiment;
use headroom::graph::{Class, Program};
use headroom::train::{Sampling, TrainError, Trainer};
use headroom::units::Bytes;
use std::sync::Arc;

const TRAIN: &str = "[train]\nsteps = 4\noptimizer = { kind = \"adam\", lr = 3e-3 }\nclip = 1.0\n";
const GPT: &str = "kind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\ncontext = 24";

/// Each family with the section of its model.
const FAMILIES: &[(&str, &str)] = &[
    ("cnn", "kind = \"cnn\"\nwidth = 8\ndepth = 8"),
    (
        "cnn, plain",
        "kind = \"cnn\"\nwidth = 8\nstages = 2\ndepth = 6\nresidual = false",
    ),
    (
        "mobilenet",
        "kind = \"mobilenet\"\nwidth = 0.25\nlayers = 4",
    ),
    (
        "efficientnet",
        "kind = \"efficientnet\"\nwidth = 0.2\nlayers = 0.4\nstages = 3\ndropout = 0.1",
    ),
    ("transformer", GPT),
    (
        "transformer, plain forms",
        "kind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\ncontext = 24\nattention = \"plain\"\nloss = \"plain\"\ndropout = 0.1",
    ),
    (
        "transformer, other choices",
        "kind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\ncontext = 24\npositions = \"rotary\"\nnorm = \"rms\"\nmlp = \"swiglu\"\ntied = false",
    ),
];

/// A run of a family, and data it takes: 25 pictures, or a text whose last sample is short.
fn run_of(model: &str, batch: usize, rest: &str) -> (Experiment, Arc<Split>) {
    let text = model.contains("transformer");
    let source = if text { "austen" } else { "fashion-mnist" };
    let experiment = experiment(&format!(
        "seed = 3\n[model]\n{model}\n[data]\nsource = \"{source}\"\nbatch = {batch}\n{TRAIN}{rest}"
    ));
    let data = if text {
        tiny_text(24 * 24 + 10, 24)
    } else {
        tiny_data(25)
    };
    (experiment, data)
}

#[test]
fn every_family_takes_the_bytes_that_were_planned_and_both_engines_agree() {
    let test = "every_family_takes_the_bytes_that_were_planned_and_both_engines_agree";
    for (name, model) in FAMILIES {
        let mut curves = Vec::new();
        for choice in [EngineChoice::Cpu, EngineChoice::Gpu] {
            // 25 samples in batches of 8 leave one over; micro-batches of 3 samples end in one of 2.
            let (experiment, data) = run_of(model, 8, "[techniques]\naccumulate = 3\n");
            let mut trainer = trainer(experiment, &data, choice, &format!("{test}: {name}"));
            let curve: Vec<f32> = train(&mut trainer, 4).iter().map(|r| r.loss).collect();
            let metrics = pollster::block_on(trainer.evaluate()).unwrap();
            assert!(metrics.test_loss.unwrap().is_finite(), "{name}");
            let report = trainer.report();
            let memory = &report.memory;
            for (what, bytes) in [
                ("peak", memory.peak_bytes),
                ("reserved", memory.reserved_bytes),
            ] {
                assert_eq!(
                    Some(bytes.predicted),
                    bytes.measured,
                    "{name}: {what} on {choice:?}"
                );
            }
            let planned = trainer.step_plan().plan.timeline();
            let ran = |p: Program| p != Program::Generate;
            let planned: Vec<_> = planned.into_iter().filter(|m| ran(m.program)).collect();
            let measured = memory.timeline.iter().filter(|m| ran(m.program));
            assert!(
                measured.eq(planned.iter()),
                "{name}: the timeline on {choice:?}"
            );
            curves.push(curve);
        }
        for (cpu, gpu) in curves[0].iter().zip(&curves[1]) {
            assert!((cpu - gpu).abs() <= 1e-4 * cpu.abs(), "{name}: {curves:?}");
        }
    }
}

#[test]
fn fused_forms_give_the_losses_of_plain_ones_with_fewer_bytes() {
    let test = "fused_forms_give_the_losses_of_plain_ones_with_fewer_bytes";
    let run = |attention: &str, loss: &str| {
        let model = format!("{GPT}\nattention = \"{attention}\"\nloss = \"{loss}\"");
        let (experiment, data) = run_of(&model, 8, "");
        let mut trainer = trainer(experiment, &data, EngineChoice::Gpu, test);
        let curve: Vec<f32> = train(&mut trainer, 6).iter().map(|r| r.loss).collect();
        let metrics = pollster::block_on(trainer.evaluate()).unwrap();
        let peak = trainer.step_plan().plan.peak_bytes();
        (curve, metrics.test_loss.unwrap(), peak)
    };
    let plain = run("plain", "plain");
    for (attention, loss) in [("fused", "plain"), ("plain", "fused"), ("fused", "fused")] {
        let other = run(attention, loss);
        for (a, b) in plain.0.iter().zip(&other.0) {
            assert!(
                (a - b).abs() <= 2e-5 * a.abs(),
                "{attention} {loss}: {plain:?} {other:?}"
            );
        }
        assert!(
            (plain.1 - other.1).abs() < 1e-4 * plain.1,
            "{attention} {loss}"
        );
        assert!(
            other.2 < plain.2,
            "{attention} {loss}: {} and {}",
            other.2,
            plain.2
        );
    }
}

/// The mean is over tokens: a window whose last sample is short weighs them as one large batch does.
#[test]
fn accumulation_of_unequal_texts_equals_the_whole_batch() {
    let test = "accumulation_of_unequal_texts_equals_the_whole_batch";
    // 25 samples, of which the last has 9 tokens with a next one.
    let run = |accumulate: usize| {
        let (experiment, data) = run_of(
            GPT,
            25,
            &format!("[techniques]\naccumulate = {accumulate}\n"),
        );
        assert_eq!(
            data.train.targets(&(0..25).collect::<Vec<_>>()),
            24 * 24 + 9
        );
        losses(experiment, &data, EngineChoice::Gpu, test, 4)
    };
    let whole = run(1);
    for accumulate in [2, 7] {
        let parts = run(accumulate);
        for (a, b) in whole.iter().zip(&parts) {
            assert!(
                (a - b).abs() <= 5e-6 * a.abs(),
                "{accumulate}: {whole:?} {parts:?}"
            );
        }
    }
}

#[test]
fn evaluation_keeps_no_activations() {
    for (name, model) in FAMILIES {
        let (experiment, data) = run_of(model, 8, "");
        let trainer = trainer(experiment, &data, EngineChoice::Cpu, name);
        let plan = &trainer.step_plan().plan;
        let peak = |program: Program| {
            let program = plan.program(program).unwrap();
            program
                .timeline
                .iter()
                .map(|b| b.allocated())
                .max()
                .unwrap()
        };
        assert!(
            peak(Program::Evaluate) < peak(Program::Accumulate),
            "{name}"
        );
        let evaluate = plan.program(Program::Evaluate).unwrap();
        let kept = evaluate
            .timeline
            .iter()
            .map(|b| b.get(Class::Activations))
            .max();
        assert_eq!(kept, Some(0), "{name}");
    }
}

/// DL-15: one value per channel has no variance. Pictures that end as one pixel meet it when one sample is left over.
#[test]
fn a_micro_batch_of_one_is_refused_where_a_variance_is_undefined() {
    let model = "kind = \"cnn\"\nwidth = 4\nstages = 6\ndepth = 14";
    let open = |batch: usize, rest: &str, data: usize| {
        let (mut experiment, _) = run_of(model, batch, rest);
        experiment.train.steps = Some(1);
        pollster::block_on(Trainer::new(experiment, tiny_data(data), EngineChoice::Cpu))
    };
    // 25 samples in batches of 3 leave one; 3 samples in batches of 2 leave one; accumulation can leave one as well.
    for (batch, rest, data) in [
        (3, "", 25),
        (2, "", 3),
        (5, "[techniques]\naccumulate = 2\n", 4),
    ] {
        match open(batch, rest, data) {
            Err(error @ TrainError::OneSample { .. }) => {
                let text = error.to_string();
                for part in [
                    "data.batch",
                    "data.last_batch = \"drop\"",
                    "balance",
                    "stage5",
                ] {
                    assert!(text.contains(part), "{part} is missing in: {text}");
                }
            }
            other => panic!("{batch}, {data}: {:?}", other.map(|_| ())),
        }
    }
    // A batch of one sample is refused by the plan.
    let error = open(1, "", 25).err().unwrap().to_string();
    assert!(error.contains("no variance"), "{error}");
    // Both ways out work, and no loss is NaN; pictures of more pixels need none.
    for (rest, model) in [
        ("last_batch = \"drop\"\n", model),
        ("last_batch = \"balance\"\n", model),
        ("", "kind = \"cnn\"\nwidth = 4\nstages = 2\ndepth = 6"),
    ] {
        let experiment = experiment(&format!(
            "[model]\n{model}\n[data]\nsource = \"fashion-mnist\"\nbatch = 3\n{rest}{TRAIN}"
        ));
        let curve = losses(
            experiment,
            &tiny_data(25),
            EngineChoice::Cpu,
            "last_batch",
            9,
        );
        assert!(
            curve.iter().all(|loss| loss.is_finite()),
            "{rest}: {curve:?}"
        );
    }
}

#[test]
fn deep_networks_plan_and_run() {
    for depth in [50, 110] {
        let model = format!("kind = \"cnn\"\nwidth = 4\ndepth = {depth}");
        let (experiment, data) = run_of(&model, 4, "");
        let mut trainer = trainer(
            experiment,
            &data,
            EngineChoice::Gpu,
            "deep_networks_plan_and_run",
        );
        let result = train(&mut trainer, 1)[0];
        assert!(result.loss.is_finite() && result.gradient_norm.is_finite());
        let memory = trainer.report().memory;
        assert_eq!(
            Some(memory.peak_bytes.predicted),
            memory.peak_bytes.measured
        );
    }
}

#[test]
fn running_out_of_memory_names_the_fused_forms() {
    let model = format!("{GPT}\nattention = \"plain\"\nloss = \"plain\"");
    let (mut experiment, data) = run_of(&model, 8, "");
    let fused = run_of(GPT, 8, "").0;
    let planned = headroom::step::plan(&fused, &data.info).unwrap();
    experiment.memory.budget = Some(Bytes(planned.plan.reserved_bytes()));
    let mut trainer = trainer(
        experiment,
        &data,
        EngineChoice::Cpu,
        "running_out_of_memory",
    );
    match pollster::block_on(trainer.step()) {
        Err(TrainError::Engine(EngineError::OutOfMemory(oom))) => {
            let all = oom.would_fit.join("\n");
            assert!(
                all.contains("--set model.attention=fused --set model.loss=fused"),
                "{all}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sampled_text_is_the_same_again_and_leaves_the_training_as_it_was() {
    let test = "a_sampled_text_is_the_same_again_and_leaves_the_training_as_it_was";
    let (experiment, _) = run_of(GPT, 4, "");
    let mut experiment = experiment;
    experiment.data.validation = 0.001;
    let data = pollster::block_on(headroom::data::load(&experiment.data, Some(24))).unwrap();
    let data = Arc::new(data);
    let sampling = Sampling {
        prompt: "It is a truth".into(),
        tokens: 40,
        temperature: 0.7,
    };
    let run = |choice: EngineChoice, samples: bool| {
        let mut trainer = trainer(experiment.clone(), &data, choice, test);
        let mut curve: Vec<f32> = train(&mut trainer, 2).iter().map(|r| r.loss).collect();
        let mut text = String::new();
        if samples {
            text = pollster::block_on(trainer.generate(&sampling)).unwrap();
            assert_eq!(
                text,
                pollster::block_on(trainer.generate(&sampling)).unwrap()
            );
        }
        curve.extend(train(&mut trainer, 2).iter().map(|r| r.loss));
        let measured = trainer.report().memory.reserved_bytes;
        assert_eq!(Some(measured.predicted), measured.measured);
        (curve, text)
    };
    let (with, text) = run(EngineChoice::Gpu, true);
    let (without, _) = run(EngineChoice::Gpu, false);
    assert_eq!(with, without, "sampling must not touch the training");
    // One byte is one token here, and what is no UTF-8 is shown as one sign for several bytes.
    assert!(
        text.starts_with("It is a truth") && text.chars().count() > 20,
        "{text}"
    );
    let (_, by_cpu) = run(EngineChoice::Cpu, true);
    assert_eq!(text, by_cpu, "both engines choose the same tokens");

    let (mlp, pictures) = run_of("kind = \"mlp\"\nhidden = [8]", 4, "");
    let mut trainer = trainer(mlp, &pictures, EngineChoice::Cpu, test);
    let error = pollster::block_on(trainer.generate(&sampling))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"mlp\"") && error.contains("transformer"),
        "{error}"
    );
}

#[test]
fn five_guesses_are_right_at_least_as_often_as_one() {
    let (experiment, data) = run_of(FAMILIES[0].1, 5, "");
    let mut trainer = trainer(experiment, &data, EngineChoice::Gpu, "five_guesses");
    train(&mut trainer, 10);
    let metrics = pollster::block_on(trainer.evaluate()).unwrap();
    let (one, five) = (metrics.test_accuracy.unwrap(), metrics.test_top5.unwrap());
    assert!(
        (0.0..=1.0).contains(&one) && five >= one && five >= 0.3,
        "{metrics:?}"
    );
    assert_eq!(metrics.test_perplexity, None);
}
