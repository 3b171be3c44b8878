//! Kernels over packed storage: from a kernel that is written for F32, the same kernel with some of its tensors in 16 bits.
//!
//! Only what touches storage changes. Every read of such a tensor becomes a call that unpacks it, every write one that
//! rounds and packs, and the arithmetic between stays as it is written. So each kernel is written, read and tested once,
//! and runs in every mix of formats that a plan asks for.

use super::kernel::{Access, Kernel, KernelError, kernel};
use crate::dtype::DType;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a kernel stores one of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// As it is written: F32 or whole words.
    Full,
    /// F16, two to a word: works on every device.
    F16,
    /// F16 as a type of the language, on devices with `shader-f16`. The same bits as [`Format::F16`].
    NativeF16,
    /// BF16, two to a word.
    Bf16,
}

impl Format {
    /// The format a value of `dtype` has in a kernel.
    pub fn of(dtype: DType, native_f16: bool) -> Self {
        match dtype {
            DType::F32 | DType::U32 | DType::I8 => Self::Full,
            DType::F16 if native_f16 => Self::NativeF16,
            DType::F16 => Self::F16,
            DType::Bf16 => Self::Bf16,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Full => "f32",
            Self::F16 => "f16",
            Self::NativeF16 => "f16_native",
            Self::Bf16 => "bf16",
        }
    }
}

/// Kernels made so far, by name.
static MADE: Mutex<BTreeMap<String, &'static Kernel>> = Mutex::new(BTreeMap::new());

fn made() -> MutexGuard<'static, BTreeMap<String, &'static Kernel>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernels over packed storage that this process has made, by name.
pub fn formatted_kernels() -> Vec<&'static Kernel> {
    made().values().copied().collect()
}

/// `kernel` with its bindings stored in `formats`, one for each. Made once and kept.
///
/// # Errors
/// [`KernelError::Bindings`] if there is not one format per binding, [`KernelError::Unknown`] if a tensor in 16 bits is
/// none of floats; both are defects.
pub fn formatted(
    kernel: &'static Kernel,
    formats: &[Format],
) -> Result<&'static Kernel, KernelError> {
    if formats.iter().all(|f| *f == Format::Full) {
        return Ok(kernel);
    }
    let tensors = tensors(kernel.wgsl);
    if formats.len() != kernel.bindings.len() || tensors.len() != formats.len() {
        return Err(KernelError::Bindings {
            kernel: kernel.name.into(),
            expected: kernel.bindings.len(),
            got: formats.len(),
        });
    }
    let name = full_name(kernel.name, &tensors, formats);
    if let Some(made) = made().get(&name) {
        return Ok(made);
    }
    let wgsl =
        rewritten(kernel, &tensors, formats).ok_or_else(|| KernelError::Unknown(name.clone()))?;
    // Kept to the end of the process like the kernels of the table: there are as many as plans have mixes of formats.
    let made_now: &'static Kernel = Box::leak(Box::new(Kernel {
        name: String::leak(name.clone()),
        wgsl: String::leak(wgsl),
        formats: Vec::leak(formats.to_vec()),
        ..*kernel
    }));
    Ok(made().entry(name).or_insert(made_now))
}

/// The kernel of the table from which one over packed storage was made.
///
/// # Errors
/// [`KernelError::Unknown`].
pub(super) fn base(made: &Kernel) -> Result<&'static Kernel, KernelError> {
    let name = made.name.split('@').next().unwrap_or(made.name);
    kernel(name)
}

/// `matmul_naive@f16(a,b)`: the formats with the tensors that have them.
fn full_name(kernel: &str, tensors: &[Tensor<'_>], formats: &[Format]) -> String {
    let mut name = kernel.to_owned();
    for format in [Format::F16, Format::NativeF16, Format::Bf16] {
        let of_it = tensors.iter().zip(formats).filter(|(_, f)| **f == format);
        let names: Vec<&str> = of_it.map(|(t, _)| t.name).collect();
        if !names.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(name, "@{}({})", format.name(), names.join(","));
        }
    }
    name
}

/// A tensor as a kernel declares it.
struct Tensor<'t> {
    name: &'t str,
    /// Its declaration, from `var` to the semicolon.
    declaration: &'t str,
    /// Floats of an element; none if it is no float.
    lanes: Option<usize>,
}

/// The storage bindings of group 0, in order.
fn tensors(wgsl: &str) -> Vec<Tensor<'_>> {
    let mut all = Vec::new();
    let mark = |index: usize| format!("@group(0) @binding({index})");
    while let Some(at) = wgsl.find(&mark(all.len())) {
        let rest = &wgsl[at..];
        let declared = rest.find("var<storage").and_then(|begin| {
            let end = begin + rest[begin..].find(';')? + 1;
            let declaration = &rest[begin..end];
            let (_, after) = declaration.split_once("> ")?;
            let (name, kind) = after.split_once(": array<")?;
            let element = kind.trim_end_matches(">;");
            Some(Tensor {
                name,
                declaration,
                lanes: lanes(wgsl, element),
            })
        });
        let Some(tensor) = declared else { break };
        all.push(tensor);
    }
    all
}

/// Floats of an element type, through an alias of the text.
fn lanes(wgsl: &str, element: &str) -> Option<usize> {
    match element {
        "f32" => Some(1),
        "vec2f" => Some(2),
        "vec4f" => Some(4),
        other => {
            let alias = format!("alias {other} = ");
            let begin = wgsl.find(&alias)? + alias.len();
            let end = begin + wgsl[begin..].find(';')?;
            lanes(wgsl, &wgsl[begin..end])
        }
    }
}

/// The text with the tensors in other formats than `Full` behind functions that unpack and pack.
fn rewritten(kernel: &Kernel, tensors: &[Tensor<'_>], formats: &[Format]) -> Option<String> {
    let header_lines = kernel.wgsl.lines().take_while(|l| l.starts_with("//"));
    let header_bytes: usize = header_lines.map(|l| l.len() + 1).sum();
    let (header, body) = kernel.wgsl.split_at(header_bytes);
    let mut body = body.to_owned();
    let mut functions = String::new();
    for ((tensor, format), access) in tensors.iter().zip(formats).zip(kernel.bindings) {
        if *format == Format::Full {
            continue;
        }
        let storage = Storage {
            name: tensor.name,
            lanes: tensor.lanes?,
            format: *format,
            writes: *access == Access::ReadWrite,
        };
        body = with_calls(&body, tensor.name)?;
        body = body.replacen(tensor.declaration, &storage.declaration(), 1);
        functions.push_str(&storage.functions());
    }
    let enable = if formats.contains(&Format::NativeF16) {
        "enable f16;\n"
    } else {
        ""
    };
    let packing = include_str!("../../shaders/lib/half.wgsl");
    Some(format!("{header}{enable}{body}\n{functions}\n{packing}"))
}

/// A tensor in 16 bits.
struct Storage<'t> {
    name: &'t str,
    lanes: usize,
    format: Format,
    writes: bool,
}

impl Storage<'_> {
    /// Whether neighbours of a word are written by different invocations.
    fn shares_words(&self) -> bool {
        self.writes && self.lanes == 1 && self.format != Format::NativeF16
    }

    fn declaration(&self) -> String {
        let access = if self.writes { "read_write" } else { "read" };
        let element = match (self.format, self.lanes) {
            (Format::NativeF16, 1) => "f16",
            (Format::NativeF16, 2) => "vec2<f16>",
            (Format::NativeF16, _) => "vec4<f16>",
            (_, 4) => "vec2u",
            _ if self.shares_words() => "atomic<u32>",
            _ => "u32",
        };
        format!("var<storage, {access}> {}: array<{element}>;", self.name)
    }

    fn functions(&self) -> String {
        let Self { name, lanes, .. } = self;
        let kind = match lanes {
            1 => "f32",
            2 => "vec2f",
            _ => "vec4f",
        };
        let at = format!(
            "\nfn read_{name}(at_: u32) -> {kind} {{\n{}}}\n",
            self.unpack()
        );
        if !self.writes {
            return at;
        }
        let to_half = if self.format == Format::Bf16 {
            "f32_to_bf16"
        } else {
            "f32_to_f16"
        };
        let padded = match lanes {
            1 => "vec4f(value_, 0.0, 0.0, 0.0)",
            2 => "vec4f(value_, 0.0, 0.0)",
            _ => "value_",
        };
        let pack = self.pack();
        format!(
            "{at}\nfn write_{name}(at_: u32, value_: {kind}) {{\n    let half_ = {to_half}(bitcast<vec4u>({padded}));\n{pack}}}\n"
        )
    }

    fn unpack(&self) -> String {
        let name = self.name;
        let two = |word: &str| match self.format {
            Format::Bf16 => {
                format!("vec2f(bitcast<f32>({word} << 16u), bitcast<f32>({word} & 0xffff0000u))")
            }
            _ => format!("unpack2x16float({word})"),
        };
        match (self.format, self.lanes) {
            (Format::NativeF16, 1) => format!("    return f32({name}[at_]);\n"),
            (Format::NativeF16, 2) => format!("    return vec2f({name}[at_]);\n"),
            (Format::NativeF16, _) => format!("    return vec4f({name}[at_]);\n"),
            (_, 1) => {
                let word = if self.shares_words() {
                    format!("atomicLoad(&{name}[at_ / 2u])")
                } else {
                    format!("{name}[at_ / 2u]")
                };
                let pair = two("word_");
                format!(
                    "    let word_ = {word};\n    let pair_ = {pair};\n    return select(pair_.x, pair_.y, (at_ & 1u) == 1u);\n"
                )
            }
            (_, 2) => format!(
                "    let word_ = {name}[at_];\n    return {};\n",
                two("word_")
            ),
            (_, _) => format!(
                "    let words_ = {name}[at_];\n    return vec4f({}, {});\n",
                two("words_.x"),
                two("words_.y")
            ),
        }
    }

    fn pack(&self) -> String {
        let name = self.name;
        match (self.format, self.lanes) {
            // The rounding is that of the packed form; a device may round its own conversion either way.
            (Format::NativeF16, lanes) => {
                let (kind, part) = match lanes {
                    1 => ("f16", ".x"),
                    2 => ("vec2<f16>", ".xy"),
                    _ => ("vec4<f16>", ""),
                };
                format!(
                    "    let words_ = pack_halves(half_);\n    let rounded_ = vec4f(unpack2x16float(words_.x), \
                     unpack2x16float(words_.y));\n    {name}[at_] = {kind}(rounded_{part});\n"
                )
            }
            // Each invocation clears and sets its own half of the word alone, so the order does not matter.
            (_, 1) => format!(
                "    let shift_ = 16u * (at_ & 1u);\n    atomicAnd(&{name}[at_ / 2u], ~(0xffffu << shift_));\n    \
                 atomicOr(&{name}[at_ / 2u], half_.x << shift_);\n"
            ),
            (_, 2) => format!("    {name}[at_] = pack_halves(half_).x;\n"),
            (_, _) => format!("    {name}[at_] = pack_halves(half_);\n"),
        }
    }
}

/// The text with every `name[i]` as `read_name(i)`, and every assignment to one as `write_name(i, value)`.
fn with_calls(text: &str, name: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = indexed(rest, name) {
        out.push_str(&rest[..at]);
        let inside = &rest[at + name.len()..];
        let close = closing(inside)?;
        let index = with_calls(&inside[1..close], name)?;
        let after = &inside[close + 1..];
        let trimmed = after.trim_start();
        let operator = ["=", "+=", "-=", "*=", "/="]
            .into_iter()
            .find(|operator| trimmed.starts_with(operator) && !trimmed.starts_with("=="));
        let Some(operator) = operator else {
            let _ = write!(out, "read_{name}({index})");
            rest = after;
            continue;
        };
        let begin = after.len() - trimmed.len() + operator.len();
        let end = begin + after[begin..].find(';')?;
        let value = with_calls(after[begin..end].trim(), name)?;
        let _ = match operator.strip_suffix('=') {
            Some("") | None => write!(out, "write_{name}({index}, {value})"),
            Some(sign) => write!(
                out,
                "write_{name}({index}, read_{name}({index}) {sign} ({value}))"
            ),
        };
        rest = &after[end..];
    }
    out.push_str(rest);
    Some(out)
}

/// Where `name[` stands as a word of its own.
fn indexed(text: &str, name: &str) -> Option<usize> {
    let pattern = format!("{name}[");
    let mut from = 0;
    while let Some(found) = text[from..].find(&pattern) {
        let at = from + found;
        let before = text[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            return Some(at);
        }
        from = at + pattern.len();
    }
    None
}

/// The place of the bracket that closes the one `text` begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kernel::KERNELS;

    #[test]
    fn reads_and_writes_become_calls_and_nothing_else_changes() {
        for (text, expected) in [
            ("let v = x[i];", "let v = read_x(i);"),
            ("x[i] = a + x[j];", "write_x(i, a + read_x(j));"),
            (
                "x[x[i]] += v;",
                "write_x(read_x(i), read_x(read_x(i)) + (v));",
            ),
            (
                "if (x[i] == max_x[i]) { p.x[i] = 1; }",
                "if (read_x(i) == max_x[i]) { p.x[i] = 1; }",
            ),
            ("sum += x[start + i].x;", "sum += read_x(start + i).x;"),
        ] {
            assert_eq!(with_calls(text, "x").unwrap(), expected);
        }
    }

    /// Every float tensor of every kernel, one at a time and all together, in every format.
    #[test]
    fn every_kernel_in_every_format_is_valid_for_the_browser() {
        let mut checked = 0;
        for kernel in KERNELS.iter().filter(|k| k.stem != "cast") {
            let lanes: Vec<Option<usize>> = tensors(kernel.wgsl).iter().map(|t| t.lanes).collect();
            assert_eq!(lanes.len(), kernel.bindings.len(), "{}", kernel.name);
            for format in [Format::F16, Format::NativeF16, Format::Bf16] {
                let floats = lanes.iter().enumerate().filter(|(_, l)| l.is_some());
                let mut mixes: Vec<Vec<Format>> = floats
                    .clone()
                    .map(|(one, _)| {
                        let mut mix = vec![Format::Full; lanes.len()];
                        mix[one] = format;
                        mix
                    })
                    .collect();
                let mut all = vec![Format::Full; lanes.len()];
                floats.for_each(|(one, _)| all[one] = format);
                mixes.push(all);
                for mix in mixes {
                    let made = formatted(kernel, &mix).unwrap();
                    check(made, format == Format::NativeF16);
                    checked += 1;
                }
            }
        }
        assert!(checked > 1000, "{checked}");
    }

    fn check(kernel: &Kernel, native: bool) {
        let module = naga::front::wgsl::parse_str(kernel.wgsl)
            .unwrap_or_else(|e| panic!("{}: {}", kernel.name, e.emit_to_string(kernel.wgsl)));
        // Unpacking is part of every WebGPU; naga asks because OpenGL may lack it.
        let mut capabilities = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        if native {
            capabilities |= naga::valid::Capabilities::SHADER_FLOAT16;
        }
        let flags = naga::valid::ValidationFlags::all();
        naga::valid::Validator::new(flags, capabilities)
            .validate(&module)
            .unwrap_or_else(|e| panic!("{}: {}", kernel.name, e.emit_to_string(kernel.wgsl)));
    }
}
