//! The lessons as the program holds them: their files, their experiments, and every number, name and command in
//! their texts and in the README.

use headroom::data::{SourceInfo, source_info};
use headroom::engine::EngineChoice;
use headroom::experiment::Experiment;
use headroom::graph::{CLASSES, Phase};
use headroom::lesson::{self, Claim, Lesson, LessonError, Test, lessons};
use headroom::report::Report;
use headroom::step::{self, StepPlan};
use headroom::train::Trainer;
use headroom::units::Bytes;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    root().join("lessons")
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

fn plan(experiment: &Experiment) -> (SourceInfo, StepPlan) {
    let source = source_info(&experiment.data).unwrap();
    let step = step::plan(experiment, &source).unwrap();
    (source, step)
}

/// Every experiment of a lesson, planned.
fn plans(lesson: &Lesson) -> Vec<StepPlan> {
    let experiments = lesson.variants.iter().map(|v| v.experiment().unwrap());
    experiments.map(|experiment| plan(&experiment).1).collect()
}

/// The text on one line, so that a quotation may go over a line end of the file.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The numbers of a text as written: digits with commas or a decimal point inside.
fn numbers(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    parts
        .map(|part| part.trim_matches([',', '.']))
        .filter(|part| !part.is_empty())
        .collect()
}

#[test]
fn every_file_of_a_lesson_is_in_the_program() {
    let mut on_disk = names_in(&folder());
    on_disk.remove("data");
    let slugs: Vec<&str> = lessons().iter().map(|lesson| lesson.slug).collect();
    assert!(slugs.is_sorted(), "the numbers give the order: {slugs:?}");
    assert_eq!(
        on_disk.iter().map(String::as_str).collect::<Vec<_>>(),
        slugs
    );
    for lesson in lessons() {
        let folder = folder().join(lesson.slug);
        let mut expected: BTreeSet<String> = lesson
            .variants
            .iter()
            .map(|variant| format!("{}.toml", variant.slug))
            .collect();
        expected.extend(["lesson.md".into(), "claims.toml".into()]);
        assert_eq!(names_in(&folder), expected, "{}", lesson.slug);
        let text = std::fs::read_to_string(folder.join("lesson.md")).unwrap();
        assert_eq!(lesson.markdown, text);
        assert_eq!(text.lines().next(), Some(&*format!("# {}", lesson.title)));
    }
}

#[test]
fn every_experiment_is_the_one_its_file_describes() {
    for lesson in lessons() {
        let mut titles = BTreeSet::new();
        for variant in lesson.variants {
            let file = folder()
                .join(lesson.slug)
                .join(format!("{}.toml", variant.slug));
            let experiment = variant.experiment().unwrap();
            assert_eq!(experiment, Experiment::load(&file, &[]).unwrap());
            assert_eq!(variant.title, experiment.name);
            assert_eq!(experiment, lesson.experiment(variant.slug).unwrap());
            assert!(
                titles.insert(variant.title),
                "{} is there twice",
                variant.title
            );
            plan(&experiment);
        }
        assert_eq!(lesson.variants.first().map(|v| v.slug), Some("base"));
    }
}

#[test]
fn unknown_lessons_and_variants_are_named_with_those_there_are() {
    let lesson = lesson::find("lesson-one").unwrap_err();
    assert!(matches!(lesson, LessonError::UnknownLesson { .. }));
    let lesson = lesson.to_string();
    for part in lessons().iter().map(|l| l.slug).chain(["\"lesson-one\""]) {
        assert!(lesson.contains(part), "{lesson}");
    }
    let first = &lessons()[0];
    let variant = first.experiment("bass").unwrap_err();
    assert!(matches!(variant, LessonError::UnknownVariant { .. }));
    let variant = variant.to_string();
    for part in first
        .variants
        .iter()
        .map(|v| v.slug)
        .chain(["\"bass\"", first.slug])
    {
        assert!(variant.contains(part), "{variant}");
    }
}

/// A claim quotes the text, and its words state the number that is checked.
#[test]
fn every_claim_quotes_its_lesson_and_states_its_number() {
    for lesson in lessons() {
        let text = flat(lesson.markdown);
        for claim in lesson.claims().unwrap() {
            assert!(
                text.contains(&claim.sentence),
                "not in the text: {}",
                claim.sentence
            );
            assert!(states_its_number(&claim), "says another number: {claim:?}");
        }
    }
}

fn states_its_number(claim: &Claim) -> bool {
    let stated = numbers(&claim.sentence);
    let as_float = |text: &&str| text.replace(',', "").parse::<f64>().unwrap();
    match &claim.test {
        Test::Equal {
            number: Some(number),
            ..
        } => stated.contains(&grouped(*number).as_str()),
        // Two fields are compared; there is no number to state.
        Test::Equal { .. } => true,
        Test::Ratio { min, max, .. } => stated.iter().map(as_float).any(|x| *min <= x && x <= *max),
        Test::AtLeast { min, .. } => {
            let written = |x: f64| {
                if claim.sentence.contains('%') {
                    x / 100.0
                } else {
                    x
                }
            };
            stated
                .iter()
                .map(as_float)
                .any(|x| (written(x) - min).abs() < 1e-9)
        }
    }
}

#[test]
fn the_rule_for_stated_numbers_refuses_other_numbers() {
    let lesson = &lessons()[0];
    for claim in lesson.claims().unwrap() {
        let is_comparison = matches!(claim.test, Test::Equal { number: None, .. });
        let other = Claim {
            sentence: claim.sentence.replace(|c: char| c.is_ascii_digit(), "7"),
            ..claim
        };
        assert_eq!(states_its_number(&other), is_comparison, "{other:?}");
    }
}

/// A number with commas, or with a unit of bytes, comes from a claim or from a tensor of a plan.
#[test]
fn every_byte_count_of_a_text_is_claimed_or_planned() {
    for lesson in lessons() {
        let mut known: BTreeSet<u64> = BTreeSet::new();
        for claim in lesson.claims().unwrap() {
            if let Test::Equal { number, .. } = claim.test {
                known.extend(number);
            }
        }
        for step in plans(lesson) {
            let tensors = step.plan.largest(usize::MAX).into_iter();
            known.extend(tensors.map(|tensor| tensor.bytes));
            known.insert(step.plan.graph.n_params() as u64 * 4);
        }
        known.extend(reference_bytes());
        let allowed: BTreeSet<String> = known
            .iter()
            .flat_map(|n| [grouped(*n), Bytes(*n).to_string()])
            .collect();
        let unknown: Vec<String> = byte_counts(&flat(lesson.markdown))
            .into_iter()
            .filter(|count| !allowed.contains(count))
            .collect();
        assert!(
            unknown.is_empty(),
            "{}: nothing checks {unknown:?}",
            lesson.slug
        );
    }
}

/// What PyTorch's tracker counted, from the file that its script writes.
fn reference_bytes() -> Vec<u64> {
    let file = root().join("tests/reference/memory_reference.json");
    let reference: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let classes = reference["peak_bytes_by_class"].as_object().unwrap();
    classes
        .values()
        .filter_map(serde_json::Value::as_u64)
        .collect()
}

fn byte_counts(text: &str) -> Vec<String> {
    let mut found: Vec<String> = numbers(text)
        .into_iter()
        .filter(|number| number.contains(','))
        .map(str::to_owned)
        .collect();
    let words: Vec<&str> = text.split(' ').collect();
    for pair in words.windows(2) {
        let unit = pair[1].trim_matches(|c: char| !c.is_ascii_alphabetic());
        if let (["KiB" | "MiB" | "GiB"], [number]) = ([unit], numbers(pair[0]).as_slice()) {
            found.push(format!("{number} {unit}"));
        }
    }
    found
}

#[test]
fn byte_counts_are_found_in_every_form() {
    let text =
        "| `weights` | 2,679,040 | of 12.5 MiB, or (256.0 KiB). In 1024 pictures, 4 bytes each";
    assert_eq!(byte_counts(text), ["2,679,040", "12.5 MiB", "256.0 KiB"]);
}

/// What a text sets in code type is a memory class, a node or value of the step, an experiment, or a command.
#[test]
fn every_name_in_a_text_exists() {
    for lesson in lessons() {
        let mut known: BTreeSet<String> = CLASSES.iter().map(|c| c.name().to_owned()).collect();
        known.extend(lesson.variants.iter().map(|v| v.slug.to_owned()));
        for step in plans(lesson) {
            let graph = &step.plan.graph;
            known.extend(graph.nodes.iter().map(|node| node.name.clone()));
            known.extend(graph.values.iter().map(|value| value.name.clone()));
        }
        let text = flat(lesson.markdown);
        let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        assert!(!quoted.is_empty());
        let is_command =
            |words: &str| words.starts_with("headroom ") || words.starts_with("--set ");
        let unknown: Vec<&&str> = quoted
            .iter()
            .filter(|words| !known.contains(**words) && !is_command(words) && **words != "d_")
            .collect();
        assert!(
            unknown.is_empty(),
            "{}: there is no {unknown:?}",
            lesson.slug
        );
    }
}

/// The settings a text tells its reader to try are valid, and the files it names are there.
#[test]
fn every_command_in_a_text_can_be_followed() {
    let mut n_commands = 0;
    for lesson in lessons() {
        let base = format!("lessons/{}/base.toml", lesson.slug);
        let text = flat(lesson.markdown);
        for words in text.split('`').skip(1).step_by(2) {
            if words.starts_with("headroom ") {
                follow(words);
            } else if words.starts_with("--set ") {
                follow(&format!("headroom plan {base} {words}"));
            } else {
                continue;
            }
            n_commands += 1;
        }
    }
    assert!(n_commands >= 3, "only {n_commands} commands found");
}

#[test]
fn every_command_and_the_experiment_in_the_readme_are_valid() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let indented = readme.lines().filter_map(|line| line.strip_prefix("    "));
    let commands: Vec<String> = indented
        .map(|line| line.replace("cargo run --release -- ", "headroom "))
        .filter(|line| line.starts_with("headroom "))
        .collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        follow(&command);
    }
    let block = readme.split("## An experiment\n\n").nth(1).unwrap();
    let lines = block.lines().map_while(|line| line.strip_prefix("    "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let resolve = |path: &str| {
        std::fs::read_to_string(folder().join(lessons()[0].slug).join(path))
            .map_err(|error| error.to_string())
    };
    let experiment = Experiment::from_toml(&text, "README.toml", &resolve);
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((experiment.seed, experiment.techniques.accumulate), (7, 4));
    plan(&experiment);
}

/// Reads the experiment that a command names, with its settings.
fn follow(command: &str) {
    let file = command.split(' ').find(|word| word.ends_with(".toml"));
    let file = file.unwrap_or_else(|| panic!("{command}: names no experiment"));
    let sets: Vec<String> = command
        .split(" --")
        .filter_map(|option| option.strip_prefix("set "))
        .map(|set| set.trim_matches('\'').to_owned())
        .collect();
    assert_eq!(sets.len(), command.matches("--set").count(), "{command}");
    Experiment::load(root().join(file), &sets).unwrap_or_else(|e| panic!("{command}: {e}"));
}

/// What lesson 1 says of the peak: where it stands, and what is alive there.
#[test]
fn the_peak_of_the_first_lesson_stands_where_its_text_says() {
    let lesson = lesson::find("01-where-memory-goes").unwrap();
    for step in plans(lesson) {
        let peak = step.plan.peak();
        assert_eq!(
            (peak.node.as_str(), peak.phase),
            ("d_layer1.gelu", Phase::Backward)
        );
        let timeline = step.plan.timeline();
        let backward: Vec<&str> = timeline
            .iter()
            .filter(|moment| moment.phase == Phase::Backward)
            .map(|moment| moment.node.as_str())
            .collect();
        let ends = (backward.first(), backward.get(2), backward.last());
        assert_eq!(
            ends,
            (
                Some(&"d_head.add_bias"),
                Some(&"d_layer1.gelu"),
                Some(&"d_layer0.weight")
            )
        );
        let forward = timeline
            .iter()
            .take_while(|moment| moment.phase == Phase::Forward);
        let first_forward: Vec<u64> = forward.map(|moment| moment.by_class.allocated()).collect();
        assert!(first_forward.is_sorted(), "{first_forward:?}");
        assert_eq!(timeline[0].node, "layer0.matmul");
    }
}

/// The claims against real trainings on an adapter, which must be there; the one slow test of this file.
#[test]
fn the_claims_of_every_lesson_hold() {
    for lesson in lessons() {
        let results = lesson::check(lesson, &mut run).unwrap();
        assert_eq!(results.len(), lesson.claims().unwrap().len());
        let failed: Vec<_> = results.iter().filter(|result| !result.passed).collect();
        assert!(failed.is_empty(), "{}: {failed:#?}", lesson.slug);
    }
}

fn run(experiment: &Experiment) -> Result<Report, String> {
    pollster::block_on(async {
        let split = headroom::data::load(&experiment.data, experiment.model.context())
            .await
            .map_err(|e| e.to_string())?;
        let trainer = Trainer::new(experiment.clone(), Arc::new(split), EngineChoice::Gpu).await;
        let mut trainer = trainer.map_err(|error| error.to_string())?;
        while trainer.updates_done() < trainer.total_updates() {
            trainer.step().await.map_err(|error| error.to_string())?;
        }
        trainer
            .evaluate()
            .await
            .map_err(|error| error.to_string())?;
        let report = trainer.report();
        if let Some(info) = report.engine.as_ref().filter(|info| info.kind == "gpu") {
            // Straight to the stream, so that the line shows without --nocapture.
            let _ = writeln!(
                std::io::stderr(),
                "[gpu] the_claims_of_every_lesson_hold on {} ({})",
                info.adapter,
                info.backend
            );
        }
        Ok(report)
    })
}
