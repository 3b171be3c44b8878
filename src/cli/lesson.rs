//! `headroom lesson`.

use super::args::{CheckArgs, ListArgs};
use super::run::{check_outputs, is_stdout, train, write_json};
use super::{CliError, print};
use crate::lesson::{self, ClaimResult, Lesson};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn list(args: &ListArgs) -> Result<(), CliError> {
    check_outputs(None, args.json.as_deref(), &[])?;
    let mut text = String::new();
    let mut all = Vec::new();
    for lesson in lesson::lessons() {
        let variants = lesson.variants;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {}", lesson.slug, lesson.title);
        for variant in variants {
            let _ = writeln!(text, "    {:<16} {}", variant.slug, variant.title);
        }
        let variants: Vec<Value> = variants
            .iter()
            .map(|v| json!({ "slug": v.slug, "title": v.title }))
            .collect();
        all.push(json!({ "slug": lesson.slug, "title": lesson.title, "variants": variants }));
    }
    let json = serde_json::to_string_pretty(&all)? + "\n";
    write_json(args.json.as_deref(), "JSON lesson list", &json)?;
    if args.json.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    print(&text)
}

pub(super) fn check(args: &CheckArgs) -> Result<(), CliError> {
    check_outputs(None, args.json.as_deref(), &[])?;
    let chosen: Vec<&Lesson> = match &args.slug {
        Some(slug) => vec![lesson::find(slug)?],
        None => lesson::lessons().iter().collect(),
    };
    let silent = args.json.as_deref().is_some_and(is_stdout);
    let mut all = Vec::new();
    let mut n_failed = 0;
    for lesson in chosen {
        // A run that fails has an exit code of its own.
        let mut failure = None;
        let results = lesson::check(lesson, &mut |experiment| {
            let (report, result) = train(experiment, args.engine.into(), silent, None);
            match (report, result) {
                (Some(report), Ok(())) => Ok(report),
                (_, Err(error)) => {
                    let reason = error.to_string();
                    failure = Some(error);
                    Err(reason)
                }
                (None, Ok(())) => Err("the run gave no report".into()),
            }
        });
        let results = match (results, failure) {
            (Err(_), Some(error)) => return Err(error.into()),
            (results, _) => results?,
        };
        n_failed += results.iter().filter(|r| !r.passed).count();
        if !silent {
            print(&describe(lesson, &results))?;
        }
        all.push(json!({ "lesson": lesson.slug, "claims": results }));
    }
    let json = serde_json::to_string_pretty(&all)? + "\n";
    write_json(args.json.as_deref(), "JSON list of claims", &json)?;
    match n_failed {
        0 => Ok(()),
        1 => Err(CliError::Failed("1 claim does not hold".into())),
        n => Err(CliError::Failed(format!("{n} claims do not hold"))),
    }
}

fn describe(lesson: &Lesson, results: &[ClaimResult]) -> String {
    let mut text = format!("{}  {}\n", lesson.slug, lesson.title);
    for result in results {
        let mark = if result.passed { "holds " } else { "FAILS " };
        let _ = writeln!(
            text,
            "  {mark} {} (expected {}, found {})",
            result.sentence, result.expected, result.found
        );
    }
    text
}
