//! Tests of whole experiments: defaults, writing and reading back, extending, settings.

use super::*;

const BASE: &str = r#"
name = "Base"
seed = 7
[model]
kind = "mlp"
hidden = [64, 32]
[data]
source = "fashion-mnist"
batch = 128
[train]
steps = 600
optimizer = { kind = "adamw", lr = 1e-3, weight_decay = 0.1 }
schedule = { kind = "cosine", warmup = 50 }
clip = 1.0
[memory]
budget = "64 MiB"
"#;

/// The embedded files of the tests.
fn resolve(path: &str) -> Result<String, String> {
    match path {
        "lessons/base.toml" => Ok(BASE.to_owned()),
        "lessons/middle.toml" => Ok(String::from(
            "extends = \"base.toml\"\nname = \"Middle\"\n[train]\nclip = 2.0",
        )),
        "lessons/mine.toml" => Ok(String::from(
            "extends = \"base.toml\"\n[data]\nsource = \"csv\"\npath = \"mine.csv\"\nlabel = \"kind\"",
        )),
        "lessons/a.toml" => Ok(String::from("extends = \"b.toml\"")),
        "lessons/b.toml" => Ok(String::from("extends = \"../lessons/a.toml\"")),
        "lessons/bad.toml" => Ok(BASE.replace("batch = 128", "batch = 0")),
        _ => Err(String::from("no such file")),
    }
}

fn read(text: &str, sets: &[&str]) -> Result<Experiment, ExperimentError> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Experiment::from_toml_with(text, "lessons/test.toml", &resolve, &sets)
}

pub(super) fn base_with(sets: &[&str]) -> Experiment {
    read(BASE, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks that the base with `sets` is refused in a message with all `parts`, and gives the message.
#[track_caller]
pub(super) fn refused(sets: &[&str], parts: &[&str]) -> String {
    refused_text(BASE, sets, parts)
}

#[track_caller]
pub(super) fn refused_text(text: &str, sets: &[&str], parts: &[&str]) -> String {
    let error = match read(text, sets) {
        Ok(experiment) => panic!("{sets:?} was taken: {experiment:?}"),
        Err(error) => error.to_string(),
    };
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    error
}

/// As [`refused`] where there must be one problem and no more.
#[track_caller]
pub(super) fn refused_once(sets: &[&str], parts: &[&str]) {
    let error = refused(sets, parts);
    assert!(!error.contains('\n'), "more than one problem: {error}");
}

#[test]
fn what_is_left_out_has_the_documented_default() {
    let experiment = base_with(&[]);
    let Model::Mlp(mlp) = &experiment.model else {
        panic!("an mlp")
    };
    assert_eq!(mlp.hidden, [64, 32]);
    assert_eq!((mlp.activation, mlp.dropout), (Activation::Relu, 0.0));
    assert_eq!(experiment.data.path, None);
    assert!(experiment.data.shuffle);
    assert_eq!(experiment.techniques, Techniques::default());
    assert_eq!(experiment.train.evaluate_every, None);
    assert_eq!(
        experiment.memory.budget,
        Some(crate::units::Bytes(64 << 20))
    );
    let optimizer = &experiment.train.optimizer;
    assert_eq!((optimizer.beta1, optimizer.beta2), (0.9, 0.999));
    assert_eq!((optimizer.eps, optimizer.weight_decay), (1e-8, 0.1));
    let short = read(&BASE.replace(", weight_decay = 0.1", ""), &[]).unwrap();
    assert_eq!(short.train.optimizer.weight_decay, 0.01);
    let adam = base_with(&["train.optimizer={kind=\"adam\", lr=1}"]).train;
    assert_eq!((adam.optimizer.weight_decay, adam.optimizer.lr), (0.0, 1.0));
}

#[test]
fn a_resolved_experiment_reads_back_equal_from_toml_and_json() {
    for sets in [
        &["data.path=/data/set", "train.evaluate_every=10"][..],
        &["train.epochs=2", "train.optimizer={kind=\"sgd\", lr=0.1}"],
        &["train.optimizer={kind=\"momentum\", lr=0.1, nesterov=true}"],
        &["train.optimizer={kind=\"adam\", lr=3e-4, beta2=0.95}"],
        &["train.schedule={kind=\"constant\", warmup=3}"],
        &[
            "model.activation=gelu_tanh",
            "model.dropout=0.1",
            "model.hidden=[]",
        ],
    ] {
        let experiment = base_with(sets);
        let toml = experiment.to_toml().unwrap();
        assert_eq!(read(&toml, &[]).unwrap(), experiment, "{toml}");
        let json = serde_json::to_string(&experiment).unwrap();
        let back: Experiment = serde_json::from_str(&json).unwrap();
        assert_eq!(back, experiment, "{json}");
    }
}

/// Scripts read these: a learning rate must not come out as 0.0010000000474974513.
#[test]
fn numbers_come_out_as_they_were_written() {
    let experiment = base_with(&[]);
    let json = serde_json::to_string(&experiment).unwrap();
    let toml = experiment.to_toml().unwrap();
    assert!(json.contains("\"lr\":0.001,"), "{json}");
    assert!(json.contains("\"budget\":67108864"), "{json}");
    assert!(toml.contains("weight_decay = 0.1\n"), "{toml}");
}

#[test]
fn extending_merges_tables_and_replaces_the_rest() {
    let text =
        "extends = \"middle.toml\"\nseed = 8\n[model]\nhidden = [10]\n[train.schedule]\nwarmup = 1";
    let experiment = read(text, &[]).unwrap();
    assert_eq!((experiment.name.as_str(), experiment.seed), ("Middle", 8));
    let Model::Mlp(mlp) = &experiment.model else {
        panic!("an mlp")
    };
    assert_eq!(mlp.hidden, [10]);
    assert_eq!(experiment.train.clip, Some(2.0));
    assert_eq!(experiment.train.schedule.kind, ScheduleKind::Cosine);
    assert_eq!(experiment.train.schedule.warmup, 1);
    assert_eq!(experiment.train.optimizer.weight_decay, 0.1);
}

#[test]
fn another_kind_drops_the_fields_of_the_old_one() {
    let text = "extends = \"base.toml\"\n[train]\noptimizer = { kind = \"sgd\", lr = 0.5 }\nschedule.kind = \"constant\"";
    let train = read(text, &[]).unwrap().train;
    assert_eq!(train.optimizer, Optimizer::new(OptimizerKind::Sgd, 0.5));
    assert_eq!(train.schedule, Schedule::default());
    // In either order, and with the same kind the fields stay.
    let sets = ["train.optimizer.lr=0.5", "train.optimizer.kind=sgd"];
    assert_eq!(base_with(&sets).train.optimizer, train.optimizer);
    let same = base_with(&["train.optimizer.kind=adamw"]);
    assert_eq!(same.train.optimizer.weight_decay, 0.1);
    refused_once(
        &["train.optimizer.kind=sgd"],
        &["train.optimizer.lr: is missing", "takes no fields over"],
    );
}

#[test]
fn another_source_drops_the_fields_of_the_old_one() {
    let mine = "extends = \"mine.toml\"";
    let data = |sets: &[&str]| {
        read(mine, sets)
            .unwrap_or_else(|error| panic!("{error}"))
            .data
    };
    assert_eq!(data(&[]).path.as_deref(), Some("mine.csv"));
    assert_eq!(data(&["data.source=fashion-mnist"]), base_with(&[]).data);
    // Fields that are given with the new source are its own, and the same source again drops nothing.
    let other = data(&["data.path=mine.npy", "data.source=npy"]);
    assert_eq!(other.path.as_deref(), Some("mine.npy"));
    assert_eq!(data(&["data.source=csv"]), data(&[]));
}

#[test]
fn steps_and_epochs_replace_each_other_but_are_never_given_together() {
    let train = base_with(&["train.epochs=5"]).train;
    assert_eq!((train.steps, train.epochs), (None, Some(5)));
    assert_eq!(train.total_updates(8), 40);
    assert_eq!(base_with(&[]).train.total_updates(8), 600);
    refused_once(
        &["train.epochs=5", "train.steps=500"],
        &["train.steps = 500", "train.epochs = 5 is given too"],
    );
    let neither = BASE.replace("steps = 600", "");
    refused_text(
        &neither,
        &[],
        &["train.steps: is missing", "train.epochs = N"],
    );
}

#[test]
fn a_shortened_run_shortens_the_warm_up_it_inherits_and_no_other() {
    let warmup = |sets: &[&str]| base_with(sets).train.schedule.warmup;
    assert_eq!(warmup(&["train.steps=20"]), 20);
    assert_eq!(warmup(&["train.steps=51"]), 50);
    assert_eq!(warmup(&["train.epochs=1"]), 50);
    let both = ["train.steps=20", "train.schedule.warmup=21"];
    refused_once(&both, &["--set: train.schedule.warmup = 21", "(20)"]);
    let one_file = BASE.replace("steps = 600", "steps = 20");
    refused_text(&one_file, &[], &["train.schedule.warmup = 50", "(20)"]);
}

#[test]
fn settings_need_no_quotes() {
    let experiment = base_with(&[
        "data.path=/data/my set",
        "memory.budget=8MiB",
        "train.optimizer.lr = 0.01",
        "train.steps=20",
        "train.steps=30",
    ]);
    assert_eq!(experiment.data.path.as_deref(), Some("/data/my set"));
    assert_eq!(experiment.memory.budget, Some(crate::units::Bytes(8 << 20)));
    assert_eq!(experiment.train.optimizer.lr, 0.01);
    assert_eq!(experiment.train.steps, Some(30));
}

#[test]
fn files_are_read_with_what_they_extend_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("child.toml");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/base.toml"), BASE).unwrap();
    std::fs::write(&path, "extends = \"./sub/base.toml\"\nname = \"Child\"").unwrap();
    let sets = [String::from("train.steps=3")];
    let experiment = Experiment::load(&path, &sets).unwrap();
    assert_eq!(
        (experiment.name.as_str(), experiment.train.steps),
        ("Child", Some(3))
    );
    let missing = folder.path().join("none.toml");
    let text = Experiment::load(&missing, &[]).unwrap_err().to_string();
    assert!(
        text.contains("none.toml") && text.contains("cannot read"),
        "{text}"
    );
}
