//! The repository's rules that a program can check: layout, layers, size, wording. Reads files and needs nothing else.
//!
//! `tidy/rules.rs` and `tidy/layers.rs` judge a text; this file applies them to the repository and reports every
//! finding of a rule together, as `file:line: what is wrong`.

#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/repository.rs"]
mod repository;
#[path = "tidy/rules.rs"]
mod rules;

use repository::{File, Repository};
use rules::Finding;

/// Everything at the top of the repository, besides dotfiles.
const ROOT: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "build.rs",
    "lessons",
    "shaders",
    "src",
    "tests",
    "web",
];

/// The longest a file of a kind may be, in lines.
const LINE_BUDGETS: &[(&str, usize)] = &[
    ("rs", 500),
    ("wgsl", 250),
    ("mjs", 500),
    ("sh", 500),
    ("html", 500),
];

/// Files over their budget, with the lines they have. The list may only shrink: an entry that is longer than needed fails.
const OVERSIZED: &[(&str, usize)] = &[];

/// Applies `rule` to every file that `applies` accepts and panics with all findings; no file at all is a finding too.
fn check(what: &str, applies: impl Fn(&File) -> bool, rule: impl Fn(&File) -> Vec<Finding>) {
    let files: Vec<File> = Repository::open()
        .files
        .into_iter()
        .filter(applies)
        .collect();
    assert!(
        !files.is_empty(),
        "{what}: no file to look at, so this rule checks nothing"
    );
    let findings: Vec<String> = files
        .iter()
        .flat_map(|file| {
            rule(file)
                .into_iter()
                .map(move |finding| format!("{}:{}: {}", file.path, finding.line, finding.message))
        })
        .collect();
    assert!(
        findings.is_empty(),
        "{what}, {} findings:\n{}",
        findings.len(),
        findings.join("\n")
    );
}

fn in_src(file: &File) -> bool {
    file.path.starts_with("src/") && file.is("rs")
}

/// Library code, without files that hold nothing but tests.
fn in_library(file: &File) -> bool {
    in_src(file) && !rules::is_test_file(&file.path)
}

fn is_script_or_code(file: &File) -> bool {
    ["rs", "wgsl", "sh", "toml", "mjs", "html"]
        .iter()
        .any(|kind| file.is(kind))
}

#[test]
fn main_only_starts_the_library() {
    check(
        "src/main.rs",
        |file| file.path == "src/main.rs",
        |file| rules::boots_only(&file.text),
    );
}

#[test]
fn tests_use_the_library_not_its_files() {
    check(
        "tests/",
        |file| file.path.starts_with("tests/") && file.is("rs"),
        |file| rules::no_source_includes(&file.text),
    );
}

#[test]
fn the_root_holds_exactly_the_agreed_entries() {
    let problems = rules::compare_root(&Repository::open().root_entries(), ROOT);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_architecture_names_every_module_and_nothing_else() {
    let repository = Repository::open();
    let text = repository.read("ARCHITECTURE.md");
    let problems = rules::compare_code_map(&text, &repository.modules());
    assert!(
        problems.is_empty(),
        "ARCHITECTURE.md:\n{}",
        problems.join("\n")
    );
}

#[test]
fn every_module_uses_only_the_layers_below_it() {
    check("layers", in_library, |file| {
        layers::check(&file.path, &file.text)
    });
}

#[test]
fn only_the_pool_creates_buffers() {
    let rule = |file: &File| {
        rules::forbid(
            &rules::library_code(&file.text),
            &["create_buffer"],
            "only src/engine/gpu/pool.rs creates buffers",
        )
    };
    check(
        "buffers",
        |file| in_src(file) && file.path != "src/engine/gpu/pool.rs",
        rule,
    );
}

#[test]
fn pure_modules_touch_no_device_clock_or_file() {
    let pure = |file: &File| in_library(file) && layers::is_pure(&file.path);
    let words = [
        "wgpu",
        "std::fs",
        "std::time",
        "web_time",
        "std::env",
        "std::thread",
        "std::net",
        "std::process",
    ];
    check("pure modules", pure, |file| {
        rules::forbid(
            &rules::library_code(&file.text),
            &words,
            "this module must run without device, clock and file",
        )
    });
}

#[test]
fn every_file_begins_with_what_it_is() {
    check("headers", is_script_or_code, |file| {
        rules::header(&file.path, &file.text)
    });
}

#[test]
fn files_keep_within_their_line_budget() {
    let files = Repository::open().files;
    let problems = rules::line_budgets(&files, LINE_BUDGETS, OVERSIZED);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_comment_asks_people_to_do_a_tests_work() {
    let phrases = [
        concat!("keep in ", "sync"),
        concat!("kept in ", "sync"),
        concat!("must ", "match"),
    ];
    check("duplicated knowledge", is_script_or_code, |file| {
        rules::forbid_anywhere(
            &file.text,
            &phrases,
            "derive one from the other, or test that they agree",
        )
    });
}

#[test]
fn bind_group_layouts_are_written_in_one_file() {
    let word = "BindGroupLayoutEntry";
    let files: Vec<String> = Repository::open()
        .files
        .into_iter()
        .filter(in_src)
        .filter(|f| !rules::forbid(&rules::library_code(&f.text), &[word], "").is_empty())
        .map(|f| f.path)
        .collect();
    assert!(
        files.len() <= 1,
        "{word} is named in {files:?}; layouts come from reflection in one place"
    );
}

#[test]
fn every_gpu_object_has_a_label() {
    check("labels", in_src, |file| {
        rules::forbid(
            &rules::code(&file.text),
            &["label: None"],
            "a label tells the reader what ran",
        )
    });
}

#[test]
fn bytes_are_formatted_in_one_place() {
    check(
        "byte units",
        |file| in_src(file) && file.path != "src/units.rs",
        |file| {
            rules::forbid(
                &rules::code(&file.text),
                rules::BYTE_ARITHMETIC,
                "use crate::units::Bytes",
            )
        },
    );
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    check(
        "lint attributes",
        |file| file.is("rs"),
        |file| rules::lint_attributes(&file.text),
    );
}

#[test]
fn the_library_returns_errors_instead_of_panicking() {
    check("panics", in_library, |file| {
        rules::forbid(
            &rules::library_code(&file.text),
            rules::PANICS,
            "return an error",
        )
    });
}
