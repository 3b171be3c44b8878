//! Which module may use which: the table of ARCHITECTURE.md, and the search for `crate::` paths that break it.

use crate::rules::{Finding, library_code};

/// A module and what it may use directly; what those may use is allowed with them. `*` stands for every row above.
const LAYERS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("dtype", &["units"]),
    ("experiment", &["units", "dtype"]),
    ("graph", &["units", "dtype"]),
    ("nn", &["graph", "experiment"]),
    ("plan", &["graph"]),
    ("technique", &["graph", "plan", "experiment"]),
    ("data", &["experiment"]),
    ("engine", &["plan"]),
    ("step", &["data", "nn", "technique"]),
    ("fit", &["step"]),
    ("report", &["engine", "step"]),
    ("train", &["*"]),
    ("export", &["experiment"]),
    ("lesson", &["experiment", "train", "report"]),
    ("app", &["*"]),
    ("cli", &["*"]),
];

/// Modules that compile anywhere and run in a unit test: no device, no clock, no file.
const PURE: &[&str] = &["units", "dtype", "graph", "nn", "technique", "plan", "fit"];

/// The modules the table knows; some are planned and not written yet.
fn modules() -> impl Iterator<Item = &'static str> {
    LAYERS.iter().map(|(module, _)| *module)
}

/// True if the file at `path` belongs to a pure module.
pub(crate) fn is_pure(path: &str) -> bool {
    module_of(path).is_some_and(|module| PURE.contains(&module))
}

/// Every use of another module of the crate in `text` that the table does not allow.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some(module) = module_of(path) else {
        return Vec::new();
    };
    let lines = library_code(text);
    if !modules().any(|known| known == module) {
        let message =
            format!("module `{module}` has no row in tests/tidy/layers.rs and ARCHITECTURE.md");
        return vec![Finding { line: 1, message }];
    }
    let mut findings = Vec::new();
    for (line, used) in uses(&lines, depth(path)) {
        let message = if used == module || may_use(module, &used) {
            continue;
        } else if modules().any(|known| known == used) {
            format!(
                "`{module}` may not use `{used}`; the table gives it {:?}",
                direct(module)
            )
        } else {
            format!("`crate::{used}` is no module of the table; name the module it comes from")
        };
        findings.push(Finding { line, message });
    }
    findings
}

/// The top module a file belongs to; none for lib.rs and main.rs, which join them all.
fn module_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?.trim_end_matches(".rs");
    (first != "lib" && first != "main").then_some(first)
}

/// How many `super::` lead from the file's module to the crate's root.
fn depth(path: &str) -> usize {
    let inside = path.trim_start_matches("src/").trim_end_matches(".rs");
    inside.split('/').filter(|part| *part != "mod").count()
}

fn direct(module: &str) -> &'static [&'static str] {
    LAYERS
        .iter()
        .find(|(name, _)| *name == module)
        .map_or(&[], |(_, uses)| uses)
}

/// True if the table lets `module` use `other`, directly or through what it uses.
fn may_use(module: &str, other: &str) -> bool {
    let position = |name: &str| modules().position(|known| known == name);
    direct(module).iter().any(|used| match *used {
        "*" => position(other) < position(module),
        used => used == other || may_use(used, other),
    })
}

/// The names that follow `crate::` (or enough `super::`) with their lines; `{a::x, b}` counts for each of its names.
fn uses(lines: &[&str], depth: usize) -> Vec<(usize, String)> {
    let text = lines.join("\n");
    let climb = "super::".repeat(depth);
    let mut found = Vec::new();
    for prefix in ["crate::", climb.as_str()] {
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].chars().next_back();
            // `my_crate::` is another crate, and a longer chain of `super::` was met at its own beginning.
            let is_part = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
            let rest = &text[at + prefix.len()..];
            if is_part || rest.starts_with("super::") {
                continue;
            }
            let line = text[..at].matches('\n').count() + 1;
            found.extend(names(rest).into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// The first path segments at the start of `rest`: one, or those inside a brace.
fn names(rest: &str) -> Vec<String> {
    let segment = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let Some(inside) = rest.strip_prefix('{') else {
        return Some(segment(rest))
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect();
    };
    let mut parts = vec![String::new()];
    let mut nesting = 0_usize;
    for c in inside.chars() {
        match c {
            '}' if nesting == 0 => break,
            ',' if nesting == 0 => parts.push(String::new()),
            _ => {
                nesting = match c {
                    '{' => nesting + 1,
                    '}' => nesting - 1,
                    _ => nesting,
                };
                parts.last_mut().expect("never empty").push(c);
            }
        }
    }
    parts
        .iter()
        .map(|part| segment(part))
        .filter(|name| !name.is_empty() && name != "self")
        .collect()
}

#[test]
fn a_module_may_use_what_its_layers_may_use() {
    let allowed = [
        ("engine", "units"),
        ("engine", "graph"),
        ("train", "data"),
        ("cli", "app"),
        ("train", "report"),
        ("lesson", "plan"),
    ];
    for (module, other) in allowed {
        assert!(may_use(module, other), "{module} -> {other}");
    }
    let refused = [
        ("graph", "plan"),
        ("nn", "technique"),
        ("technique", "nn"),
        ("engine", "experiment"),
        ("report", "train"),
        ("app", "cli"),
    ];
    for (module, other) in refused {
        assert!(!may_use(module, other), "{module} -> {other}");
    }
}

#[test]
fn the_table_names_only_modules_that_stand_above() {
    for (i, (module, uses)) in LAYERS.iter().enumerate() {
        for used in uses.iter().filter(|used| **used != "*") {
            let at = LAYERS.iter().position(|(name, _)| name == used);
            assert!(at.is_some_and(|at| at < i), "{module} uses {used}");
        }
    }
}

#[test]
fn paths_of_every_form_are_found_with_their_line() {
    let cases: &[(&str, &str, &[usize])] = &[
        (
            "src/graph/op.rs",
            "use crate::units::Bytes;\nuse crate::dtype::DType;",
            &[],
        ),
        (
            "src/graph/op.rs",
            "use crate::units::Bytes;\nuse crate::plan::Plan;",
            &[2],
        ),
        (
            "src/graph/op.rs",
            "fn f() {\n    crate::engine::run();\n}",
            &[2],
        ),
        (
            "src/graph/op.rs",
            "use crate::{\n    units::{self, Bytes},\n    nn::mlp,\n};",
            &[1],
        ),
        (
            "src/graph/op.rs",
            "use crate::{graph::{Node, Op}, units::Bytes};",
            &[],
        ),
        ("src/graph/op.rs", "use super::super::engine::Engine;", &[1]),
        ("src/graph/op.rs", "use super::node::engine;", &[]),
        ("src/graph.rs", "use super::engine::Engine;", &[1]),
        ("src/graph/mod.rs", "use super::engine::Engine;", &[1]),
        (
            "src/graph/op.rs",
            "// as crate::engine does\nuse my_crate::engine;",
            &[],
        ),
        (
            "src/graph/op.rs",
            "pub(crate) fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::engine::Engine;\n}",
            &[],
        ),
        ("src/graph/op.rs", "use crate::Bytes;", &[1]),
        ("src/novelty.rs", "", &[1]),
        ("src/main.rs", "use crate::engine::Engine;", &[]),
    ];
    for (path, text, expected) in cases {
        let lines: Vec<usize> = check(path, text)
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(lines, *expected, "{path}: {text}");
    }
}
