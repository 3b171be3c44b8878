//! The message of every mistake a user can make in an experiment.

use super::tests::{base_with, refused, refused_once, refused_text};

#[test]
fn settings_without_sense_are_refused() {
    refused(
        &["train.steps"],
        &["--set train.steps", "no \"=\"", "write --set"],
    );
    refused(&["=3"], &["--set =3", "empty name"]);
    refused(&["a..b=3"], &["empty name"]);
    refused(&["train=3", "train.steps=4"], &["--set train.steps=4"]);
    refused_once(
        &["train=3"],
        &["--set: train = 3: expected a table of fields"],
    );
    refused_once(
        &["trian.steps=3"],
        &["--set: trian", "did you mean \"train\"?"],
    );
}

#[test]
fn files_that_extend_badly_are_named() {
    refused_text(
        "extends = \"none.toml\"",
        &[],
        &[
            "lessons/test.toml",
            "extends = \"none.toml\"",
            "lessons/none.toml",
            "no such file",
        ],
    );
    refused_text(
        "extends = \"a.toml\"",
        &[],
        &["lessons/a.toml -> lessons/b.toml -> lessons/a.toml"],
    );
    refused_text(
        "extends = 3",
        &[],
        &["lessons/test.toml: extends = 3", "in quotes"],
    );
    refused_text(
        "extends = \"test.toml\"",
        &[],
        &["lessons/test.toml -> lessons/test.toml"],
    );
    // The value stands in another file than the one that was asked for.
    refused_text(
        "extends = \"bad.toml\"",
        &[],
        &["lessons/bad.toml: data.batch = 0"],
    );
    refused_text(
        "a = = 1",
        &[],
        &["lessons/test.toml is not valid TOML", "line 1"],
    );
    refused_text("a = 1\na = 2", &[], &["duplicate key"]);
}

#[test]
fn unknown_fields_come_with_the_allowed_ones() {
    refused_once(
        &["model.hiden=[3]"],
        &[
            "model.hiden = [3]: unknown field",
            "model of kind = \"mlp\" allows kind, hidden, activation, dropout",
            "did you mean \"hidden\"?",
        ],
    );
    refused_once(
        &["sed=3"],
        &[
            "--set: sed = 3",
            "the experiment allows name, seed, model, data, train, techniques, memory",
            "did you mean \"seed\"?",
        ],
    );
    for section in [
        "data",
        "train",
        "techniques",
        "memory",
        "train.optimizer",
        "train.schedule",
    ] {
        refused_once(
            &[&format!("{section}.banana=1")],
            &[&format!("{section}.banana = 1: unknown field"), " allows "],
        );
    }
    refused_once(
        &["train.optimizer.momentum=0.5"],
        &["train.optimizer.momentum = 0.5: is not used by kind = \"adamw\""],
    );
    refused_once(
        &["train.schedule={kind=\"constant\", floor=0.1}"],
        &["train.schedule.floor", "is not used by kind = \"constant\""],
    );
}

#[test]
fn unknown_words_come_with_the_allowed_ones() {
    refused_once(
        &["train.optimizer.kind=adamax"],
        &[
            "train.optimizer.kind = \"adamax\"",
            "allowed: sgd, momentum, adam, adamw",
            "did you mean \"adam",
        ],
    );
    refused_once(
        &["model.kind=mpl"],
        &[
            "model.kind = \"mpl\"",
            "allowed: mlp",
            "did you mean \"mlp\"?",
        ],
    );
    refused_once(
        &["techniques.precision=f16"],
        &["not available in this version; allowed: f32"],
    );
    refused_once(
        &["model.activation=geluu"],
        &[
            "model.activation",
            "allowed: relu, gelu, gelu_tanh; did you mean \"gelu\"?",
        ],
    );
    refused_once(
        &["train.schedule.kind=3"],
        &["train.schedule.kind = 3: expected one of constant, linear, cosine, in quotes"],
    );
    for precision in ["f16", "bf16"] {
        refused_once(
            &[&format!("techniques.precision={precision}")],
            &[
                "techniques.precision",
                "not available in this version; allowed: f32",
            ],
        );
    }
}

#[test]
fn values_of_the_wrong_type_are_one_problem_each() {
    for (set, parts) in [
        (
            "train.steps=many",
            [
                "train.steps = \"many\"",
                "expected a whole number, 0 or above, found text",
            ],
        ),
        (
            "train.steps=1.5",
            ["train.steps = 1.5", "found a number with a fraction"],
        ),
        (
            "train.epochs=-1",
            [
                "train.epochs = -1",
                "expected a whole number, 0 or above, found -1",
            ],
        ),
        (
            "train.clip=true",
            [
                "train.clip = true",
                "expected a number, found true or false",
            ],
        ),
        (
            "train.optimizer.lr=fast",
            [
                "train.optimizer.lr = \"fast\"",
                "expected a number, found text",
            ],
        ),
        (
            "train.optimizer=adamw",
            [
                "train.optimizer = \"adamw\"",
                "expected a table of fields, found text",
            ],
        ),
        ("data.batch=big", ["data.batch = \"big\"", "found text"]),
        (
            "data.shuffle=1",
            [
                "data.shuffle = 1",
                "expected true or false, found a whole number",
            ],
        ),
        (
            "data.source=3",
            ["data.source = 3", "expected text in quotes"],
        ),
        (
            "data.path=[1]",
            ["data.path = [1]", "expected text in quotes, found a list"],
        ),
        ("seed=-1", ["seed = -1", "from 0 to 4294967295"]),
        (
            "model.hidden=512",
            ["model.hidden = 512", "expected a list of whole numbers"],
        ),
        (
            "model.hidden=[3,\"x\"]",
            [
                "model.hidden = [3, \"x\"]",
                "entry 1: expected a whole number",
            ],
        ),
        (
            "memory.budget=1.5",
            ["memory.budget = 1.5", "such as \"64 MiB\" or 67108864"],
        ),
        ("memory=1", ["memory = 1", "expected a table of fields"]),
    ] {
        refused_once(&[set], &parts);
    }
}

#[test]
fn values_out_of_range_are_one_problem_each() {
    for (set, parts) in [
        (
            "data.batch=0",
            ["data.batch = 0", "must be 1 to 4294967295"],
        ),
        (
            "data.batch=4294967296",
            ["data.batch = 4294967296", "must be 1 to 4294967295"],
        ),
        ("train.steps=0", ["train.steps = 0", "must be 1 or more"]),
        ("train.epochs=0", ["train.epochs = 0", "must be 1 or more"]),
        (
            "train.evaluate_every=0",
            ["train.evaluate_every = 0", "must be 1 or more"],
        ),
        (
            "train.optimizer.lr=-0.1",
            [
                "train.optimizer.lr = -0.1",
                "must be a finite number above 0",
            ],
        ),
        (
            "train.optimizer.lr=0",
            ["train.optimizer.lr = 0", "above 0"],
        ),
        (
            "train.optimizer.lr=nan",
            ["train.optimizer.lr = NaN", "finite"],
        ),
        (
            "train.optimizer.lr=1e300",
            ["train.optimizer.lr = inf", "finite"],
        ),
        (
            "train.optimizer.beta1=1",
            ["train.optimizer.beta1 = 1", "at least 0 and below 1"],
        ),
        (
            "train.optimizer.eps=0",
            ["train.optimizer.eps = 0", "above 0"],
        ),
        (
            "train.optimizer.weight_decay=-1",
            ["train.optimizer.weight_decay = -1", "0 or above"],
        ),
        ("train.clip=0", ["train.clip = 0", "above 0"]),
        (
            "train.schedule.warmup=601",
            ["train.schedule.warmup = 601", "at most train.steps (600)"],
        ),
        (
            "train.schedule.floor=1.5",
            ["train.schedule.floor = 1.5", "must be 0 to 1"],
        ),
        (
            "model.dropout=1",
            ["model.dropout = 1", "at least 0 and below 1"],
        ),
        ("model.dropout=nan", ["model.dropout = NaN", "below 1"]),
        (
            "model.hidden=[64,0]",
            ["model.hidden[1] = 0", "a width must be 1 to"],
        ),
        (
            "techniques.accumulate=0",
            ["techniques.accumulate = 0", "1 to data.batch (128)"],
        ),
        (
            "techniques.accumulate=129",
            ["techniques.accumulate = 129", "1 to data.batch (128)"],
        ),
        (
            "memory.budget=8 bananas",
            ["memory.budget = \"8 bananas\"", "\"8 MiB\""],
        ),
        ("memory.budget=0", ["memory.budget = 0", "must be 1 to"]),
        (
            "memory.budget=-5",
            ["memory.budget = -5", "a number of bytes"],
        ),
        ("name=\"\"", ["name = \"\"", "must not be empty"]),
        ("data.path=", ["data.path = \"\"", "must name a folder"]),
    ] {
        refused_once(&[set], &parts);
    }
}

#[test]
fn missing_fields_say_what_to_write() {
    let error = refused_text(
        "",
        &[],
        &[
            "name: is missing; give a name in quotes",
            "model.kind: is missing; give one of mlp",
            "data.source: is missing",
            "data.batch: is missing",
            "train.steps: is missing",
            "train.optimizer.kind: is missing; give one of sgd, momentum, adam, adamw",
        ],
    );
    assert!(error.starts_with("6 problems"), "{error}");
    refused(
        &["train.optimizer={kind=\"adam\"}"],
        &["train.optimizer.lr: is missing; give a learning rate"],
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let error = refused(
        &[
            "data.batch=0",
            "train.optimizer.lr=-1",
            "model.dropout=x",
            "model.hiden=1",
            "techniques.accumulate=0",
        ],
        &[
            "data.batch = 0",
            "train.optimizer.lr = -1",
            "model.dropout = \"x\"",
            "model.hiden = 1",
            "techniques.accumulate = 0",
        ],
    );
    assert!(error.starts_with("5 problems"), "{error}");
    assert_eq!(error.lines().count(), 6, "{error}");
}

#[test]
fn experiments_changed_in_memory_are_checked_too() {
    let mut experiment = base_with(&[]);
    assert!(experiment.validate().is_ok());
    experiment.data.batch = 0;
    experiment.train.optimizer.lr = f32::NAN;
    let text = experiment.validate().unwrap_err().to_string();
    assert!(
        text.contains("data.batch = 0") && text.contains("train.optimizer.lr = NaN"),
        "{text}"
    );
}

#[test]
fn each_optimizer_refuses_the_fields_it_does_not_use() {
    let all = ["momentum", "nesterov", "beta1", "beta2", "eps"];
    for (kind, used) in [
        ("sgd", &[][..]),
        ("momentum", &["momentum", "nesterov"]),
        ("adam", &["beta1", "beta2", "eps"]),
        ("adamw", &["beta1", "beta2", "eps"]),
    ] {
        for field in all {
            let value = if field == "nesterov" { "true" } else { "0.5" };
            let table = format!("{{kind=\"{kind}\", lr=1, {field}={value}}}");
            let set = format!("train.optimizer={table}");
            if used.contains(&field) {
                base_with(&[&set]);
            } else {
                let path = format!("train.optimizer.{field} = {value}");
                let reason = format!("is not used by kind = \"{kind}\"");
                refused_once(&[&set], &[&path, &reason]);
            }
        }
    }
}
