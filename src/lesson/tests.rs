//! Claims: what is refused, what holds and what does not.

use super::*;
use crate::data::source_info;
use crate::report::{Report, plan_report};
use crate::step;

const LESSON: &str = "01-where-memory-goes";

/// Lesson 1 with other claims.
fn lesson_with(claims: &str) -> Lesson {
    Lesson {
        claims: String::from(claims).leak(),
        ..find(LESSON).unwrap().clone()
    }
}

/// One claim about the lines after its sentence.
fn claim_with(lines: &str) -> Lesson {
    lesson_with(&format!("[[claim]]\nsentence = \"words\"\n{lines}"))
}

/// A report without a run: the planned bytes, and an accuracy of 0.5.
fn planned(experiment: &Experiment) -> Report {
    let source = source_info(&experiment.data).unwrap();
    let step = step::plan(experiment, &source).unwrap();
    let mut report = plan_report(experiment, &step);
    report.metrics.test_accuracy = Some(0.5);
    report
}

fn judged(lines: &str) -> ClaimResult {
    let results = check(&claim_with(lines), &mut |experiment| {
        Ok(planned(experiment))
    });
    let mut results = results.unwrap_or_else(|error| panic!("{lines}: {error}"));
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[track_caller]
fn refused(lesson: &Lesson, parts: &[&str]) {
    let result = check(lesson, &mut |experiment| Ok(planned(experiment)));
    let message = result.expect_err("must be refused").to_string();
    for part in parts {
        assert!(message.contains(part), "\"{part}\" is not in: {message}");
    }
}

const STATE: &str = "variant = \"base\", field = \"memory.at_peak.by_class.optimizer_state\"";
const WEIGHTS: &str = "variant = \"base\", field = \"memory.at_peak.by_class.weights\"";
const ACCURACY: &str = "variant = \"base\", field = \"metrics.test_accuracy\"";

#[test]
fn every_kind_of_claim_can_hold_and_can_fail() {
    for (lines, passes) in [
        (
            format!("kind = \"equal\"\nof = {{ {WEIGHTS} }}\nnumber = 2679040"),
            true,
        ),
        (
            format!("kind = \"equal\"\nof = {{ {WEIGHTS} }}\nnumber = 2679041"),
            false,
        ),
        (
            format!("kind = \"equal\"\nof = {{ {WEIGHTS} }}\nto = {{ {WEIGHTS} }}"),
            true,
        ),
        (
            format!("kind = \"equal\"\nof = {{ {WEIGHTS} }}\nto = {{ {STATE} }}"),
            false,
        ),
        (
            format!("kind = \"ratio\"\nof = {{ {STATE} }}\nto = {{ {WEIGHTS} }}\nmin = 2\nmax = 2"),
            true,
        ),
        (
            format!(
                "kind = \"ratio\"\nof = {{ {STATE} }}\nto = {{ {WEIGHTS} }}\nmin = 2.1\nmax = 3"
            ),
            false,
        ),
        (
            format!(
                "kind = \"ratio\"\nof = {{ {STATE} }}\nto = {{ {WEIGHTS} }}\nmin = 1\nmax = 1.9"
            ),
            false,
        ),
        (
            format!("kind = \"at_least\"\nof = {{ {ACCURACY} }}\nmin = 0.5"),
            true,
        ),
        (
            format!("kind = \"at_least\"\nof = {{ {ACCURACY} }}\nmin = 0.51"),
            false,
        ),
    ] {
        let result = judged(&lines);
        assert_eq!(result.passed, passes, "{lines}: {result:?}");
        assert_eq!(result.sentence, "words");
    }
}

#[test]
fn a_result_says_what_was_expected_and_found() {
    let result = judged(&format!(
        "kind = \"equal\"\nof = {{ {WEIGHTS} }}\nnumber = 1"
    ));
    assert_eq!(
        (result.expected.as_str(), result.found.as_str()),
        ("memory.at_peak.by_class.weights of base = 1", "2679040")
    );
}

/// 0 / 0 and 1 / 0 lie between no two bounds.
#[test]
fn a_ratio_to_nothing_fails() {
    let none = "variant = \"sgd\", field = \"memory.at_peak.by_class.optimizer_state\"";
    for of in [none, STATE] {
        let lines = format!(
            "kind = \"ratio\"\nof = {{ {of} }}\nto = {{ {none} }}\nmin = 0.001\nmax = 1e300"
        );
        assert!(!judged(&lines).passed, "{of}");
    }
}

#[test]
fn names_that_do_not_exist_are_named_with_those_that_do() {
    let error = find("02-nothing").unwrap_err().to_string();
    assert!(
        error.contains("02-nothing") && error.contains(LESSON),
        "{error}"
    );
    let at_least =
        |place: &str| claim_with(&format!("kind = \"at_least\"\nof = {{ {place} }}\nmin = 1"));
    refused(
        &at_least("variant = \"adam\", field = \"steps\""),
        &["\"adam\"", "base, large-batch, sgd"],
    );
    refused(
        &at_least("variant = \"base\", field = \"memory.at_peak.by_class.wheels\""),
        &[
            "claim 1",
            "by_class.wheels",
            "by_class has weights, master_weights, ",
        ],
    );
    refused(
        &at_least("variant = \"base\", field = \"steps.now\""),
        &["claim 1", "steps.now", "steps is 0"],
    );
}

#[test]
fn a_field_without_a_number_is_refused_and_not_read_as_zero() {
    let at_least = |field: &str| {
        claim_with(&format!(
            "kind = \"at_least\"\nof = {{ variant = \"base\", field = \"{field}\" }}\nmin = 0"
        ))
    };
    refused(
        &at_least("memory.driver_bytes"),
        &["memory.driver_bytes of base", "unknown (null)"],
    );
    refused(&at_least("memory.timeline"), &["a list"]);
    refused(&at_least("memory.at_peak"), &["a group of fields"]);
}

#[test]
fn claims_that_are_not_as_they_should_be_name_claim_and_field() {
    let file = "lessons/01-where-memory-goes/claims.toml";
    for (lines, parts) in [
        ("kind = \"equals\"", ["claim 1", "equals"]),
        ("kind = \"at_least\"\nmin = 1", ["claim 1", "of"]),
        (
            "kind = \"at_least\"\nof = { variant = \"base\", field = \"steps\" }\nmin = 1\nmax = 2",
            ["claim 1", "max"],
        ),
        (
            "kind = \"at_least\"\nof = { variant = \"base\", field = \"steps\", file = \"x\" }\nmin = 1",
            ["claim 1", "file"],
        ),
        (
            "kind = \"at_least\"\nof = { variant = \"base\", field = \"steps\" }\nmin = nan",
            ["at_least", "min = NaN"],
        ),
        (
            "kind = \"ratio\"\nof = { variant = \"base\", field = \"steps\" }\n\
             to = { variant = \"base\", field = \"steps\" }\nmin = 2\nmax = 1",
            ["ratio", "min = 2, max = 1"],
        ),
        (
            "kind = \"ratio\"\nof = { variant = \"base\", field = \"steps\" }\n\
             to = { variant = \"base\", field = \"steps\" }\nmin = 2",
            ["claim 1", "max"],
        ),
        (
            "kind = \"equal\"\nof = { variant = \"base\", field = \"steps\" }",
            ["equal", "give the expected number"],
        ),
        (
            "kind = \"equal\"\nof = { variant = \"base\", field = \"steps\" }\nnumber = 1\n\
             to = { variant = \"base\", field = \"steps\" }",
            ["number = 1", "keep one"],
        ),
        (
            "kind = \"equal\"\nof = { variant = \"base\", field = \"steps\" }\nnumber = -1",
            ["claim 1", "-1"],
        ),
    ] {
        refused(&claim_with(lines), &[&[file][..], &parts].concat());
    }
    for (text, part) in [
        ("", "there is none"),
        ("[claim]\nsentence = \"x\"", "there is none"),
        ("[[claim]]\nkind = \"equal\"", "sentence: is missing"),
        ("[[claim]]\nsentence = \" \"", "sentence = "),
        ("x = 1\n[[claim]]\nsentence = \"x\"", "unknown field \"x\""),
        ("claim = [3]", "claim 1: found 3"),
        ("claim =", "claims.toml: "),
    ] {
        refused(&lesson_with(text), &[file, part]);
    }
}

#[test]
fn each_experiment_runs_once_and_a_run_that_fails_is_named() {
    let lines = format!(
        "kind = \"equal\"\nof = {{ {WEIGHTS} }}\nto = {{ {STATE} }}\n[[claim]]\nsentence = \"more\"\n\
         kind = \"at_least\"\nof = {{ {ACCURACY} }}\nmin = 0"
    );
    let mut names = Vec::new();
    let results = check(&claim_with(&lines), &mut |experiment| {
        names.push(experiment.name.clone());
        Ok(planned(experiment))
    });
    assert_eq!(results.unwrap().len(), 2);
    assert_eq!(names, [find(LESSON).unwrap().variants[0].title]);
    let error = check(&claim_with(&lines), &mut |_| {
        Err("the device is gone".into())
    })
    .unwrap_err();
    let message = error.to_string();
    for part in [LESSON, "variant base", "the device is gone"] {
        assert!(message.contains(part), "{message}");
    }
}
