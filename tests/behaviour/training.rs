//! Whole trainings: both engines agree, runs repeat to the bit, and the plan's bytes are the ledger's bytes.

use crate::common::{ADAMW, engine, losses, mlp, shipped_data, tiny_data, train, trainer};
use headroom::engine::{EngineChoice, EngineError, Step};
use headroom::graph::{Accumulate, Axis, CLASSES, Class, Graph, Init, Op, Phase, Program, Rule};
use headroom::plan::Plan;
use headroom::technique::clipping;
use headroom::train::TrainError;
use std::sync::Arc;

const GPU: EngineChoice = EngineChoice::Gpu;
const CPU: EngineChoice = EngineChoice::Cpu;

#[test]
fn gpu_and_cpu_losses_agree_over_50_steps() {
    let data = shipped_data();
    let experiment = mlp("[128, 64]", 64, 50, &format!("{ADAMW}clip = 1.0\n"));
    let gpu = losses(
        experiment.clone(),
        &data,
        GPU,
        "gpu_and_cpu_losses_agree_over_50_steps",
        50,
    );
    let cpu = losses(experiment, &data, CPU, "", 50);
    assert_eq!((gpu.len(), cpu.len()), (50, 50));
    for (update, (g, c)) in gpu.iter().zip(&cpu).enumerate() {
        assert!(
            (g - c).abs() <= 1e-4 * c.abs(),
            "update {update}: {g} on the GPU, {c} on the CPU"
        );
    }
    assert!(
        gpu[49] < 0.7 * gpu[0],
        "the loss fell only from {} to {}",
        gpu[0],
        gpu[49]
    );
}

#[test]
fn two_gpu_runs_with_one_seed_are_bit_equal_and_another_seed_is_not() {
    let data = tiny_data(100);
    let name = "two_gpu_runs_with_one_seed_are_bit_equal";
    let rest = format!("{ADAMW}\n[techniques]\naccumulate = 3\n");
    let bits = |seed: u32| {
        let mut experiment = mlp("[33, 20]", 30, 12, &rest);
        experiment.seed = seed;
        let headroom::experiment::Model::Mlp(mlp) = &mut experiment.model else {
            panic!("an mlp")
        };
        mlp.dropout = 0.25;
        losses(experiment, &data, GPU, name, 12)
            .into_iter()
            .map(f32::to_bits)
            .collect::<Vec<_>>()
    };
    let first = bits(7);
    assert_eq!(first, bits(7));
    assert_ne!(first, bits(8));
}

/// The heart of the program: every class at every node, the peak and the reserved bytes, on both engines.
#[test]
fn predicted_bytes_equal_measured_bytes() {
    let data = tiny_data(260);
    for choice in [GPU, CPU] {
        for hidden in ["[16]", "[100, 30]", "[257, 65, 3]"] {
            for batch in [1, 7, 128] {
                for rest in [
                    ADAMW,
                    "optimizer = { kind = \"sgd\", lr = 0.1 }\n[techniques]\naccumulate = 1\n",
                ] {
                    let what = format!("hidden {hidden}, batch {batch}, {rest}");
                    let mut experiment = mlp(hidden, batch, 3, rest);
                    let headroom::experiment::Model::Mlp(mlp) = &mut experiment.model else {
                        panic!("an mlp")
                    };
                    mlp.dropout = 0.1;
                    let mut trainer = trainer(
                        experiment,
                        &data,
                        choice,
                        "predicted_bytes_equal_measured_bytes",
                    );
                    let planned = trainer.step_plan().plan.timeline();
                    train(&mut trainer, 2);
                    pollster::block_on(trainer.evaluate()).unwrap();
                    let memory = trainer.report().memory;
                    assert_eq!(memory.timeline, planned, "{what}");
                    assert_eq!(
                        memory.peak_bytes.measured,
                        Some(memory.peak_bytes.predicted),
                        "{what}"
                    );
                    assert_eq!(
                        memory.reserved_bytes.measured,
                        Some(memory.reserved_bytes.predicted),
                        "{what}"
                    );
                    // The allocator's own count, which knows nothing of classes.
                    let made = trainer.engine_mut().buffers_made();
                    let counted = memory.live_buffers.zip(memory.reserved_bytes.measured);
                    assert_eq!(Some(made), counted, "{what}");
                    assert_eq!(memory.at_peak, trainer.step_plan().plan.peak(), "{what}");
                    assert_eq!(
                        memory.peak_by_class,
                        trainer.step_plan().plan.peak_by_class(),
                        "{what}"
                    );
                    for moment in &memory.timeline {
                        let sum: u64 = CLASSES.iter().map(|c| moment.by_class.get(*c)).sum();
                        assert_eq!(
                            Some(sum),
                            memory.reserved_bytes.measured,
                            "{what}: {}",
                            moment.node
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn classes_hold_what_their_names_say() {
    let experiment = mlp("[100]", 10, 1, ADAMW);
    let mut trainer = trainer(
        experiment,
        &tiny_data(20),
        GPU,
        "classes_hold_what_their_names_say",
    );
    train(&mut trainer, 1);
    let report = trainer.report();
    let by_class = report.memory.at_peak.by_class;
    let pool = |elements: u64| (elements * 4).div_ceil(256) * 256;
    let weights = pool(78_400) + pool(100) + pool(1000) + pool(10);
    assert_eq!(report.model.parameters, 78_400 + 100 + 1000 + 10);
    assert_eq!(by_class.get(Class::Weights), weights);
    assert_eq!(by_class.get(Class::Gradients), weights);
    assert_eq!(
        by_class.get(Class::OptimizerState),
        2 * weights,
        "Adam keeps two numbers per weight"
    );
    assert_eq!(by_class.get(Class::Data), pool(7840) + pool(10));
    assert_eq!(by_class.get(Class::Staging), 3 * 256);
}

#[test]
fn two_hundred_steps_leave_the_buffers_as_they_were_and_reset_frees_them_all() {
    let name = "two_hundred_steps_leave_the_buffers_as_they_were";
    let experiment = mlp("[24]", 8, 300, ADAMW);
    let mut trainer = trainer(experiment, &tiny_data(50), GPU, name);
    train(&mut trainer, 3);
    let before = (
        trainer.engine_mut().ledger().live_buffers(),
        *trainer.engine_mut().ledger().now(),
    );
    assert!(before.0 > 0);
    train(&mut trainer, 200);
    let after = (
        trainer.engine_mut().ledger().live_buffers(),
        *trainer.engine_mut().ledger().now(),
    );
    assert_eq!(before, after);
    trainer.engine_mut().unload();
    assert_eq!(trainer.engine_mut().ledger().live_buffers(), 0);
    assert_eq!(trainer.engine_mut().ledger().now().reserved(), 0);
    assert_eq!(trainer.engine_mut().buffers_made(), (0, 0));
}

/// GA-01 and GA-03 in the part that the trainer owns: the last short batch counts, each sample weighs the same.
#[test]
fn accumulation_makes_the_update_of_the_whole_batch_also_when_the_last_one_is_short() {
    let data = tiny_data(13);
    let name = "accumulation_makes_the_update_of_the_whole_batch";
    let run = |accumulate: usize| {
        let rest = format!(
            "optimizer = {{ kind = \"momentum\", lr = 0.05 }}\n[techniques]\naccumulate = {accumulate}\n"
        );
        let experiment = mlp("[12]", 8, 6, &rest);
        let mut trainer = trainer(experiment, &data, GPU, name);
        let results = train(&mut trainer, 6);
        let head = trainer.step_plan().plan.graph.find("head.weight").unwrap();
        let words = pollster::block_on(trainer.engine_mut().read(head)).unwrap();
        let weights: Vec<f32> = words.into_iter().map(f32::from_bits).collect();
        (results.iter().map(|r| r.loss).collect::<Vec<_>>(), weights)
    };
    let whole = run(1);
    for accumulate in [2, 3, 8] {
        let cut = run(accumulate);
        for (a, b) in whole.0.iter().zip(&cut.0).chain(whole.1.iter().zip(&cut.1)) {
            assert!(
                (a - b).abs() <= 2e-6 * a.abs().max(1.0),
                "accumulate {accumulate}: {a} and {b}"
            );
        }
    }
}

/// A short batch is padded by the data and skipped by the kernels; both must mean the same rows.
#[test]
fn the_label_of_padding_is_the_one_the_kernels_ignore() {
    assert_eq!(headroom::data::PADDING_LABEL, headroom::engine::IGNORE);
}

/// GA-05.
#[test]
fn the_schedule_advances_once_per_update_not_per_micro_batch() {
    let rest = "optimizer = { kind = \"sgd\", lr = 0.1 }\nschedule = { kind = \"linear\" }\n[techniques]\naccumulate = 2\n";
    let mut trainer = trainer(mlp("[4]", 4, 10, rest), &tiny_data(40), CPU, "");
    let results = train(&mut trainer, 10);
    assert_eq!(results.len(), 10);
    for (update, result) in results.iter().enumerate() {
        let expected = 0.1 * (1.0 - update as f32 / 10.0);
        assert!(
            (result.lr - expected).abs() < 1e-7,
            "update {update}: {} instead of {expected}",
            result.lr
        );
    }
}

/// GA-06: micro-batch gradients [2, 0] and [0, 2] through a window with SGD at rate 1.
#[test]
fn the_gradient_is_clipped_once_on_the_whole_window() {
    let mut graph = Graph::new();
    let x = graph.persistent("x", &[2, 1], headroom::dtype::DType::F32, Class::Data);
    let w = graph.parameter("w", &[2], Init::Zeros).unwrap();
    let d_w = graph.persistent("d_w", &[2], headroom::dtype::DType::F32, Class::Gradients);
    graph.parameters[0].gradient = Some(d_w);
    // The mean over two samples.
    let op = Op::Reduce {
        axis: Axis::Cols,
        factor: 1.0,
        per_sample: true,
        accumulate: Accumulate::OverWindow,
    };
    graph.push("d_w", op, &[x], &[d_w]);
    graph.enter(Program::Update, Phase::Update);
    let norm = clipping::global_norm(&mut graph).unwrap();
    graph.push(
        "w.sgd",
        Op::Update(Rule::Sgd { weight_decay: 0.0 }),
        &[norm, d_w],
        &[w],
    );
    let plan = Arc::new(Plan::new(graph));

    for choice in [GPU, CPU] {
        let mut engine = engine(choice, "the_gradient_is_clipped_once_on_the_whole_window");
        engine.load(plan.clone(), None).unwrap();
        let mut step = Step {
            inv_samples: 0.5,
            lr: 1.0,
            max_norm: 1.0,
            rows: 1,
            ..Step::default()
        };
        for (micro, gradient) in [[2.0f32, 0.0], [0.0, 2.0]].into_iter().enumerate() {
            step.micro = micro as u32;
            engine.upload(x, &gradient.map(f32::to_bits)).unwrap();
            pollster::block_on(engine.run(Program::Accumulate, &step)).unwrap();
        }
        pollster::block_on(engine.run(Program::Update, &step)).unwrap();
        let mut floats = |value| -> Vec<f32> {
            pollster::block_on(engine.read(value))
                .unwrap()
                .into_iter()
                .map(f32::from_bits)
                .collect()
        };
        let (w, norm) = (floats(w), floats(norm));
        for weight in w {
            assert!(
                (weight + std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-5,
                "{weight}"
            );
        }
        assert!(
            (norm[0] - std::f32::consts::SQRT_2).abs() < 1e-5,
            "the norm reported is the one before clipping: {}",
            norm[0]
        );
    }
}

#[test]
fn a_budget_gives_an_out_of_memory_that_names_everything_and_loses_nothing() {
    let data = tiny_data(300);
    let name = "a_budget_gives_an_out_of_memory";
    let needed = trainer(mlp("[64]", 256, 2, ADAMW), &data, GPU, name)
        .report()
        .memory
        .reserved_bytes
        .predicted;
    let with_budget = |budget: u64| {
        mlp(
            "[64]",
            256,
            2,
            &format!("{ADAMW}\n[memory]\nbudget = {budget}\n"),
        )
    };
    // Exactly enough is enough.
    train(&mut trainer(with_budget(needed), &data, GPU, name), 2);

    let mut short = trainer(with_budget(needed - 256), &data, GPU, name);
    let error = pollster::block_on(short.step()).unwrap_err();
    let TrainError::Engine(EngineError::OutOfMemory(oom)) = &error else {
        panic!("{error}")
    };
    assert_eq!(oom.budget_bytes, Some(needed - 256));
    assert!(
        oom.during.is_some()
            && oom.asked_bytes > 0
            && !oom.largest.is_empty()
            && !oom.would_fit.is_empty(),
        "{error}"
    );
    assert!(oom.by_class.reserved() + oom.asked_bytes > needed - 256);
    let text = error.to_string();
    for part in [
        "out of memory",
        "at node",
        "phase",
        "weights",
        "layer0.weight",
        "--set techniques.accumulate=2",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    // The weights are those of a training that never ran short, and nothing is left taken.
    let weights = |trainer: &mut headroom::train::Trainer| {
        let w = trainer.step_plan().plan.graph.find("head.bias").unwrap();
        pollster::block_on(trainer.engine_mut().read(w)).unwrap()
    };
    let mut roomy = trainer(mlp("[64]", 256, 2, ADAMW), &data, GPU, name);
    assert_eq!(weights(&mut short), weights(&mut roomy));
    assert_eq!(short.engine_mut().ledger().now().get(Class::Activations), 0);
    assert!(
        pollster::block_on(short.step()).is_err(),
        "and it can be asked again"
    );

    let error = pollster::block_on(headroom::train::Trainer::new(with_budget(4096), data, GPU))
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("before the first step"),
        "{error}"
    );
}

/// The last update has no later loss that would show it broke the weights; the evaluation does.
#[test]
fn a_training_that_breaks_in_its_last_update_is_not_called_done() {
    let rest = "optimizer = { kind = \"sgd\", lr = 1e30 }\n";
    let name = "a_training_that_breaks_in_its_last_update";
    let mut trainer = trainer(mlp("[16]", 8, 1, rest), &tiny_data(40), GPU, name);
    train(&mut trainer, 1);
    let error = pollster::block_on(trainer.evaluate()).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { .. }), "{error}");
}

#[test]
fn a_diverging_training_says_so() {
    let rest = "optimizer = { kind = \"sgd\", lr = 1e30 }\n";
    let mut trainer = trainer(
        mlp("[16]", 8, 20, rest),
        &tiny_data(40),
        GPU,
        "a_diverging_training_says_so",
    );
    let error = pollster::block_on(async {
        for _ in 0..20 {
            trainer.step().await?;
        }
        trainer.flush().await
    })
    .unwrap_err();
    assert!(matches!(error, TrainError::Diverged { .. }), "{error}");
}

#[test]
fn every_optimizer_and_schedule_learns() {
    let data = shipped_data();
    for optimizer in [
        "{ kind = \"sgd\", lr = 0.2 }",
        "{ kind = \"momentum\", lr = 0.05 }",
        "{ kind = \"momentum\", lr = 0.05, nesterov = true }",
        "{ kind = \"adam\", lr = 0.002 }",
        "{ kind = \"adamw\", lr = 0.002 }",
    ] {
        for schedule in ["constant", "linear", "cosine"] {
            let rest = format!(
                "optimizer = {optimizer}\nschedule = {{ kind = \"{schedule}\", warmup = 5 }}\nclip = 5.0\n"
            );
            let losses = losses(mlp("[32]", 64, 40, &rest), &data, CPU, "", 40);
            let (first, last) = (losses[0], losses[35..].iter().sum::<f32>() / 5.0);
            assert!(
                last < 0.6 * first,
                "{optimizer} {schedule}: from {first} to {last}"
            );
        }
    }
}
