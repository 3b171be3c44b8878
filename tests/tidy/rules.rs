//! The rules that judge one text. Each has cases of its own that it has to accept and to refuse.

use std::collections::BTreeSet;

use crate::repository::File;

/// Something wrong at a line, counted from 1.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Byte arithmetic by hand, which prints the same number differently in different places.
pub(crate) const BYTE_ARITHMETIC: &[&str] = &[
    "/ 1024",
    ">> 20",
    "/ 1e6",
    "/ 1e9",
    "/ 1_048_576",
    "/ 1048576",
    "/ 1_000_000",
];

/// Calls that end the program instead of returning an error.
pub(crate) const PANICS: &[&str] = &[
    ".unwrap()",
    ".expect(",
    "panic!(",
    "unreachable!(",
    "todo!(",
    "unimplemented!(",
];

fn finding(line: usize, message: impl Into<String>) -> Finding {
    Finding {
        line,
        message: message.into(),
    }
}

/// True for a file that holds nothing but tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

/// The lines of Rust `text` with comments blanked, so that line numbers stay.
pub(crate) fn code(text: &str) -> Vec<&str> {
    text.lines()
        .map(|line| match line.find("//") {
            // An address in a string is no comment.
            Some(at) if !line[..at].ends_with(':') => &line[..at],
            _ => line,
        })
        .collect()
}

/// As `code`, with `#[cfg(test)]` items blanked too. Relies on rustfmt: an item ends at its own indentation.
pub(crate) fn library_code(text: &str) -> Vec<&str> {
    let mut lines = code(text);
    let mut i = 0;
    while i < lines.len() {
        let attribute = lines[i].trim();
        if attribute != "#[cfg(test)]" && !attribute.starts_with("#[cfg(all(test,") {
            i += 1;
            continue;
        }
        let indent = lines[i].len() - lines[i].trim_start().len();
        let is_end = |line: &str| {
            let at = line.len() - line.trim_start().len();
            let end = line.trim_end();
            at == indent && (end.ends_with(';') || end.ends_with('}'))
        };
        while i < lines.len() {
            let ended = is_end(lines[i]);
            lines[i] = "";
            i += 1;
            if ended {
                break;
            }
        }
    }
    lines
}

/// Finds `words` in lines of code. A word that ends in a digit is not found inside a longer number, nor in a float.
pub(crate) fn forbid(lines: &[&str], words: &[&str], reason: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        for word in words.iter().filter(|word| contains(line, word)) {
            findings.push(finding(i + 1, format!("`{word}`: {reason}")));
        }
    }
    findings
}

fn contains(line: &str, word: &str) -> bool {
    let ends_in_digit = word.ends_with(|c: char| c.is_ascii_digit());
    line.match_indices(word).any(|(at, _)| {
        let next = line[at + word.len()..].chars().next();
        !(ends_in_digit && next.is_some_and(|c| c.is_ascii_digit() || c == '_' || c == '.'))
    })
}

/// Finds phrases in any part of a text, comments included, upper and lower case alike.
pub(crate) fn forbid_anywhere(text: &str, phrases: &[&str], reason: &str) -> Vec<Finding> {
    let text = text.to_lowercase();
    forbid(&text.lines().collect::<Vec<_>>(), phrases, reason)
}

/// `main.rs` has at most 100 lines and declares no module.
pub(crate) fn boots_only(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let n_lines = text.lines().count();
    if n_lines > 100 {
        findings.push(finding(
            n_lines,
            format!("{n_lines} lines, at most 100: move logic to the library"),
        ));
    }
    for (i, line) in code(text).iter().enumerate() {
        let words = line.trim_start().trim_start_matches("pub ");
        if words.starts_with("mod ") {
            findings.push(finding(i + 1, "a module declared outside the library"));
        }
    }
    findings
}

/// No test includes a file of `src/` as a module of its own.
pub(crate) fn no_source_includes(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, line) in code(text).iter().enumerate() {
        let is_path = line.trim_start().starts_with("#[path");
        if is_path && line.contains("src/") {
            findings.push(finding(i + 1, "import the library instead of its file"));
        }
    }
    findings
}

/// `#[allow]` hides a lint for ever and without a word; `#[expect]` has to give its reason and to be needed.
pub(crate) fn lint_attributes(text: &str) -> Vec<Finding> {
    let allow = concat!("[", "allow(");
    let lines = code(text);
    let mut findings = forbid(&lines, &[allow], "use #[expect(lint, reason = \"...\")]");
    for (i, line) in lines.iter().enumerate() {
        let Some(at) = line.find(concat!("[", "expect(")) else {
            continue;
        };
        // The attribute may go over several lines.
        let rest = lines[i..].join("\n")[at..].to_owned();
        let attribute = rest
            .split_once(")]")
            .map_or(rest.as_str(), |(inside, _)| inside);
        if !attribute.contains("reason") {
            findings.push(finding(i + 1, "#[expect] without a reason"));
        }
    }
    findings
}

/// The first line says what the file is; a shell script's `#!` line comes before it.
pub(crate) fn header(path: &str, text: &str) -> Vec<Finding> {
    let mut lines = text.lines();
    let mut number = 1;
    let mut first = lines.next().unwrap_or_default();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let skip = match extension {
        "sh" => first.starts_with("#!"),
        "html" => first.starts_with("<!doctype"),
        _ => false,
    };
    if skip {
        first = lines.next().unwrap_or_default();
        number = 2;
    }
    let prefix = match extension {
        "rs" => "//! ",
        "wgsl" | "mjs" => "// ",
        "html" => "<!-- ",
        _ => "# ",
    };
    let says_something = first
        .strip_prefix(prefix)
        .is_some_and(|words| words.trim().len() >= 10);
    if says_something {
        return Vec::new();
    }
    vec![finding(
        number,
        format!("no header: expected a line `{prefix}...` that says what the file is"),
    )]
}

/// The entries at the root, compared with the agreed list in both directions.
pub(crate) fn compare_root(found: &BTreeSet<String>, agreed: &[&str]) -> Vec<String> {
    let unknown = found
        .iter()
        .filter(|name| !agreed.contains(&name.as_str()))
        .map(|name| format!("{name}:1: not one of the agreed entries at the root"));
    let missing = agreed
        .iter()
        .filter(|name| !found.contains(**name))
        .map(|name| format!("{name}:1: agreed to be at the root and missing"));
    unknown.chain(missing).collect()
}

/// Every module is named in the code map as `module` or `src/module`, and every `src/...` it names exists.
pub(crate) fn compare_code_map(text: &str, modules: &BTreeSet<String>) -> Vec<String> {
    let quoted: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let named = |module: &str| {
        quoted.iter().any(|words| {
            let path = words.trim_start_matches("src/").trim_end_matches('/');
            path.trim_end_matches(".rs").replace("::", "/") == module
        })
    };
    let mut problems: Vec<String> = modules
        .iter()
        .filter(|module| !named(module))
        .map(|module| format!("the code map does not name `{module}`"))
        .collect();
    for words in &quoted {
        let Some(inside) = words.strip_prefix("src/") else {
            continue;
        };
        let first = inside
            .split('/')
            .next()
            .unwrap_or_default()
            .trim_end_matches(".rs");
        let is_root_file = first == "lib" || first == "main" || first.is_empty();
        if !is_root_file && !modules.contains(first) {
            problems.push(format!("the code map names `{words}`, which is not there"));
        }
    }
    problems
}

/// Files over the budget of their kind, and entries of the allow-list that allow more than is needed.
pub(crate) fn line_budgets(
    files: &[File],
    budgets: &[(&str, usize)],
    oversized: &[(&str, usize)],
) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        let n_lines = file.text.lines().count();
        let Some((_, budget)) = budgets.iter().find(|(kind, _)| file.is(kind)) else {
            continue;
        };
        let allowed = oversized.iter().find(|(path, _)| *path == file.path);
        match allowed {
            None if n_lines > *budget => problems.push(format!(
                "{}:{n_lines}: {n_lines} lines, at most {budget}",
                file.path
            )),
            Some((path, lines)) if n_lines > *lines => problems.push(format!(
                "{path}:{n_lines}: has grown from {lines} to {n_lines} lines; the allow-list only shrinks"
            )),
            Some((path, lines)) if n_lines < *lines => problems.push(format!(
                "{path}:{n_lines}: has {n_lines} lines, the allow-list says {lines}; lower it or take the entry out"
            )),
            Some((path, _)) if n_lines <= *budget => {
                problems.push(format!("{path}:1: is within its budget; take it off the allow-list"));
            }
            _ => {}
        }
    }
    for (path, _) in oversized {
        if !files.iter().any(|file| file.path == *path) {
            problems.push(format!(
                "{path}:1: on the allow-list and not in the repository"
            ));
        }
    }
    problems
}

#[path = "rules_tests.rs"]
mod tests;
