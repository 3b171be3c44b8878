//! Texts that every rule has to accept and texts it has to refuse, with the lines it has to name.

use super::*;

/// The lines a rule complains about.
fn lines(findings: &[Finding]) -> Vec<usize> {
    findings.iter().map(|finding| finding.line).collect()
}

#[test]
fn comments_and_test_items_are_no_library_code() {
    let text = "a();\n// b();\nc(); // d();\nlet e = \"http://x\";";
    assert_eq!(code(text), ["a();", "", "c(); ", "let e = \"http://x\";"]);
    let text = "a();\n#[cfg(test)]\nmod tests {\n    b();\n}\nc();\n#[cfg(test)]\nmod more;\nd();";
    assert_eq!(
        library_code(text),
        ["a();", "", "", "", "", "c();", "", "", "d();"]
    );
    let text = "#[cfg(not(test))]\nmod kept {\n    b();\n}";
    assert_eq!(library_code(text).len(), 4);
    assert!(library_code(text).contains(&"    b();"));
    let text = "#[cfg(all(test, unix))]\nmod gone {\n    b();\n}\nc();";
    assert_eq!(library_code(text), ["", "", "", "", "c();"]);
    let text = "impl A {\n    #[cfg(test)]\n    fn f() {\n        b();\n    }\n    fn g() {}\n}";
    assert_eq!(library_code(text)[5], "    fn g() {}");
    assert_eq!(library_code(text)[3], "");
}

#[test]
fn files_of_tests_are_known_by_name() {
    for path in [
        "src/plan/tests.rs",
        "src/data/idx_tests.rs",
        "src/plan/tests/slots.rs",
    ] {
        assert!(is_test_file(path), "{path}");
    }
    for path in ["src/plan/slots.rs", "src/attests.rs", "src/testing.rs"] {
        assert!(!is_test_file(path), "{path}");
    }
}

#[test]
fn words_are_found_in_code_only() {
    let found = forbid(
        &code("x.create_buffer();\n// create_buffer\ny.create_buffer_init();"),
        &["create_buffer"],
        "",
    );
    assert_eq!(lines(&found), [1, 3]);
    let found = forbid(
        &code("let x = A { label: None };\nlet y = A { label: Some(\"n\") };"),
        &["label: None"],
        "",
    );
    assert_eq!(lines(&found), [1]);
}

#[test]
fn byte_arithmetic_is_found_and_other_numbers_are_not() {
    for bad in [
        "bytes / 1024",
        "bytes >> 20",
        "(bytes as f64) / 1e9",
        "bytes / 1_048_576",
        "n / 1024 / 1024",
    ] {
        assert!(!forbid(&[bad], BYTE_ARITHMETIC, "").is_empty(), "{bad}");
    }
    for good in [
        "n / 1024.0",
        "n / 10240",
        "n / 1024_000",
        "hash >> 16",
        "n * 1024",
        "hash >> 200",
    ] {
        assert!(forbid(&[good], BYTE_ARITHMETIC, "").is_empty(), "{good}");
    }
}

#[test]
fn panicking_calls_are_found_and_their_safe_kin_are_not() {
    for bad in [
        "x.unwrap();",
        "x.expect(\"y\");",
        "panic!(\"x\");",
        "unreachable!()",
    ] {
        assert!(!forbid(&[bad], PANICS, "").is_empty(), "{bad}");
    }
    for good in [
        "x.unwrap_or(0);",
        "x.unwrap_or_default();",
        "#[expect(lint, reason = \"r\")]",
        "x.expected();",
    ] {
        assert!(forbid(&[good], PANICS, "").is_empty(), "{good}");
    }
}

#[test]
fn phrases_are_found_in_comments_and_in_any_case() {
    let phrase = concat!("keep in ", "sync");
    let text = format!("// fine\n// {} with b\n", phrase.to_uppercase());
    assert_eq!(lines(&forbid_anywhere(&text, &[phrase], "")), [2]);
    assert!(forbid_anywhere("// kept elsewhere", &[phrase], "").is_empty());
}

#[test]
fn main_may_start_the_library_and_no_more() {
    assert!(boots_only("//! Starts.\nfn main() {\n    headroom::run();\n}\n").is_empty());
    assert_eq!(lines(&boots_only("fn main() {}\nmod app;\n")), [2]);
    assert_eq!(lines(&boots_only("pub mod app {\n}\n")), [1]);
    assert!(boots_only(&"//! x\n".repeat(100)).is_empty());
    assert_eq!(lines(&boots_only(&"//! x\n".repeat(101))), [101]);
}

#[test]
fn tests_may_include_their_own_files_only() {
    assert!(no_source_includes("#[path = \"tidy/rules.rs\"]\nmod rules;").is_empty());
    let text = format!("use std;\n#[path = \"../{}/units.rs\"]\nmod units;", "src");
    assert_eq!(lines(&no_source_includes(&text)), [2]);
}

#[test]
fn lint_attributes_need_expect_and_a_reason() {
    let allow = concat!("#![", "allow(dead_code)]");
    assert_eq!(
        lines(&lint_attributes(&format!("fn f() {{}}\n{allow}"))),
        [2]
    );
    let bare = concat!("#[", "expect(dead_code)]\nfn f() {}");
    assert_eq!(lines(&lint_attributes(bare)), [1]);
    assert!(lint_attributes("#[expect(dead_code, reason = \"used by wasm\")]").is_empty());
    assert!(
        lint_attributes("#[expect(\n    dead_code,\n    reason = \"used by wasm\"\n)]").is_empty()
    );
}

#[test]
fn a_header_says_what_the_file_is() {
    let good = [
        ("a.rs", "//! Formats bytes.\n"),
        ("a.wgsl", "// y = max(x, 0), element by element.\n"),
        (
            "a.sh",
            "#!/usr/bin/env bash\n# Builds the browser edition.\n",
        ),
        ("a.toml", "# Clippy's settings.\n"),
        ("a.mjs", "// Serves a folder.\n"),
        ("a.html", "<!doctype html>\n<!-- The page around it. -->\n"),
    ];
    for (path, text) in good {
        assert_eq!(header(path, text), [], "{path}: {text}");
    }
    let bad = [
        ("a.rs", "use std;\n", 1),
        ("a.rs", "// Formats bytes.\n", 1),
        ("a.rs", "//!\n", 1),
        ("a.rs", "", 1),
        ("a.wgsl", "\n// y = max(x, 0)\n", 1),
        ("a.sh", "#!/usr/bin/env bash\nset -e\n", 2),
        ("a.toml", "[package]\n", 1),
    ];
    for (path, text, line) in bad {
        assert_eq!(lines(&header(path, text)), [line], "{path}: {text}");
    }
}

#[test]
fn the_root_list_is_compared_in_both_directions() {
    let found = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert!(compare_root(&found(&["src", "web"]), &["src", "web"]).is_empty());
    assert_eq!(
        compare_root(&found(&["src", "docs"]), &["src", "web"]).len(),
        2
    );
}

#[test]
fn the_code_map_is_compared_in_both_directions() {
    let modules: BTreeSet<String> = ["units", "engine", "engine/gpu"].map(str::to_owned).into();
    assert!(compare_code_map("`units`, `engine` and `engine/gpu`", &modules).is_empty());
    assert!(compare_code_map("`src/units.rs` `src/engine/` `engine::gpu`", &modules).is_empty());
    assert_eq!(
        compare_code_map("`units` and engine, `engine/gpu`", &modules).len(),
        1
    );
    assert_eq!(
        compare_code_map("`units` `engine` `engine/gpu` `src/gone`", &modules).len(),
        1
    );
    assert!(compare_code_map("`units` `engine` `engine/gpu` `src/lib.rs`", &modules).is_empty());
}

#[test]
fn line_budgets_have_an_allow_list_that_only_shrinks() {
    let file = |path: &str, n_lines: usize| File {
        path: path.to_owned(),
        text: "x\n".repeat(n_lines),
    };
    let files = [file("a.rs", 10), file("b.rs", 12), file("c.md", 99)];
    let budgets = [("rs", 10)];
    assert_eq!(line_budgets(&files, &budgets, &[]).len(), 1);
    assert!(line_budgets(&files, &budgets, &[("b.rs", 12)]).is_empty());
    for stale in [("b.rs", 11), ("b.rs", 13)] {
        assert_eq!(
            line_budgets(&files, &budgets, &[stale]).len(),
            1,
            "{stale:?}"
        );
    }
    assert_eq!(
        line_budgets(&files, &budgets, &[("b.rs", 12), ("a.rs", 10)]).len(),
        1
    );
    assert_eq!(
        line_budgets(&files, &budgets, &[("b.rs", 12), ("gone.rs", 12)]).len(),
        1
    );
}
