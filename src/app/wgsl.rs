//! Colours for WGSL text: comments, keywords, types, attributes and numbers.

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, TextStyle, Ui};

const KEYWORDS: [&str; 20] = [
    "alias",
    "break",
    "case",
    "const",
    "continue",
    "continuing",
    "default",
    "discard",
    "else",
    "fn",
    "for",
    "if",
    "import",
    "let",
    "loop",
    "override",
    "return",
    "struct",
    "switch",
    "while",
];
const TYPES: [&str; 16] = [
    "array",
    "atomic",
    "bool",
    "f16",
    "f32",
    "function",
    "i32",
    "private",
    "ptr",
    "storage",
    "u32",
    "uniform",
    "var",
    "vec2",
    "vec4",
    "workgroup",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Comment,
    Keyword,
    Type,
    Attribute,
    Number,
}

/// `text` in monospace with a colour for each kind of word.
pub(super) fn highlighted(ui: &Ui, text: &str) -> LayoutJob {
    let font = TextStyle::Monospace.resolve(ui.style());
    let dark = ui.visuals().dark_mode;
    let plain = ui.visuals().text_color();
    let mut job = LayoutJob::default();
    for (kind, piece) in pieces(text) {
        let color = match (kind, dark) {
            (Kind::Plain, _) => plain,
            (Kind::Comment, true) => Color32::from_rgb(138, 173, 140),
            (Kind::Comment, false) => Color32::from_rgb(62, 108, 66),
            (Kind::Keyword, true) => Color32::from_rgb(198, 160, 246),
            (Kind::Keyword, false) => Color32::from_rgb(122, 44, 160),
            (Kind::Type, true) => Color32::from_rgb(125, 190, 240),
            (Kind::Type, false) => Color32::from_rgb(0, 92, 160),
            (Kind::Attribute, true) => Color32::from_rgb(232, 186, 110),
            (Kind::Attribute, false) => Color32::from_rgb(150, 90, 0),
            (Kind::Number, true) => Color32::from_rgb(240, 160, 120),
            (Kind::Number, false) => Color32::from_rgb(170, 64, 20),
        };
        job.append(piece, 0.0, TextFormat::simple(font.clone(), color));
    }
    job
}

/// Cuts `text` into pieces of one kind each; together they are the text.
fn pieces(text: &str) -> Vec<(Kind, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (kind, len) = if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if first == '@' {
            let name = rest.get(1..).unwrap_or_default();
            (
                Kind::Attribute,
                1 + name.find(|c| !is_word(c)).unwrap_or(name.len()),
            )
        } else if is_word(first) {
            let number = first.is_ascii_digit();
            let end = rest
                .find(|c| !(is_word(c) || number && c == '.'))
                .unwrap_or(rest.len());
            (
                kind_of_word(rest.get(..end).unwrap_or_default(), number),
                end,
            )
        } else {
            let starts = |(at, c): (usize, char)| {
                is_word(c) || c == '@' || rest.get(at..).is_some_and(|r| r.starts_with("//"))
            };
            let end = rest
                .char_indices()
                .skip(1)
                .find(|found| starts(*found))
                .map_or(rest.len(), |(at, _)| at);
            (Kind::Plain, end)
        };
        let Some((piece, after)) = rest.split_at_checked(len) else {
            break;
        };
        found.push((kind, piece));
        rest = after;
    }
    found
}

fn kind_of_word(word: &str, number: bool) -> Kind {
    match word {
        _ if number => Kind::Number,
        _ if KEYWORDS.contains(&word) => Kind::Keyword,
        _ if TYPES.contains(&word) => Kind::Type,
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, pieces};
    use crate::engine::kernel::KERNELS;

    #[test]
    fn the_pieces_of_every_kernel_are_its_text() {
        for kernel in KERNELS {
            let joined: String = pieces(kernel.wgsl)
                .into_iter()
                .map(|(_, piece)| piece)
                .collect();
            assert_eq!(joined, kernel.wgsl, "{}", kernel.name);
        }
    }

    #[test]
    fn words_are_told_apart() {
        let text = "@compute fn f(x: f32) { return 1.5; } // é end";
        let kinds: Vec<_> = pieces(text)
            .into_iter()
            .filter(|(kind, _)| *kind != Kind::Plain)
            .collect();
        let expected = [
            (Kind::Attribute, "@compute"),
            (Kind::Keyword, "fn"),
            (Kind::Type, "f32"),
            (Kind::Keyword, "return"),
            (Kind::Number, "1.5"),
            (Kind::Comment, "// é end"),
        ];
        assert_eq!(kinds, expected);
    }
}
