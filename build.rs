//! Compiles every kernel in `shaders/`: resolves WESL imports and variants, validates the result for the
//! browser baseline with naga, and reflects bindings, uniform layout and workgroup size into a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=shaders");
    println!("cargo::rerun-if-changed=build.rs");
    let out_dir = PathBuf::from(std::env::var("OUT_DIR")?);
    let shaders = Path::new("shaders").canonicalize()?;
    let variants = read_manifest(&shaders)?;
    let mut table = String::from(
        "/// Every kernel of `shaders/` in every variant.\npub static KERNELS: &[Kernel] = &[\n",
    );
    let mut errors = Vec::new();
    for (stem, variants) in &variants {
        let features: BTreeSet<&String> = variants.iter().flatten().collect();
        for variant in variants {
            match compile(&shaders, stem, variant, &features, &out_dir) {
                Ok(entry) => table.push_str(&entry),
                // All failures are reported together: one broken import often breaks several kernels.
                Err(error) => errors.push(format!("{stem} {variant:?}: {error}")),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors.join("\n\n").into());
    }
    table.push_str("];\n");
    std::fs::write(out_dir.join("kernels.rs"), table)?;
    Ok(())
}

/// Reads `shaders/variants.txt`: a stem, then its variants; `-` is the plain one, `a+b` switches on features a and b.
fn read_manifest(shaders: &Path) -> Result<BTreeMap<String, Vec<Vec<String>>>, Error> {
    let text = std::fs::read_to_string(shaders.join("variants.txt"))?;
    let mut manifest = BTreeMap::new();
    for line in text
        .lines()
        .map(|l| l.split('#').next().unwrap_or("").trim())
        .filter(|l| !l.is_empty())
    {
        let mut words = line.split_whitespace();
        let stem = words.next().unwrap_or_default().to_owned();
        let variants = words
            .map(|w| {
                if w == "-" {
                    vec![]
                } else {
                    w.split('+').map(str::to_owned).collect()
                }
            })
            .collect();
        if manifest.insert(stem.clone(), variants).is_some() {
            return Err(format!("shaders/variants.txt lists {stem} twice").into());
        }
    }
    let files: BTreeSet<String> = std::fs::read_dir(shaders)?
        .filter_map(|e| {
            e.ok()?
                .path()
                .file_name()?
                .to_str()?
                .strip_suffix(".wgsl")
                .map(str::to_owned)
        })
        .collect();
    let listed: BTreeSet<String> = manifest.keys().cloned().collect();
    if files != listed {
        let odd: Vec<_> = files.symmetric_difference(&listed).collect();
        return Err(
            format!("shaders/*.wgsl and shaders/variants.txt disagree about {odd:?}").into(),
        );
    }
    Ok(manifest)
}

fn compile(
    shaders: &Path,
    stem: &str,
    variant: &[String],
    features: &BTreeSet<&String>,
    out_dir: &Path,
) -> Result<String, Error> {
    let path = shaders.join(format!("{stem}.wgsl"));
    let source = std::fs::read_to_string(&path)?;
    let header: Vec<&str> = source.lines().take_while(|l| l.starts_with("//")).collect();
    if header.is_empty() {
        return Err("the file has no header comment".into());
    }
    let mut compiler = wesl::Wesl::new(shaders);
    compiler
        .use_sourcemap(true)
        .set_options(wesl::CompileOptions {
            strip: true,
            ..Default::default()
        });
    compiler.set_mangler(wesl::ManglerKind::None);
    // Every feature that some variant of the file names has a value, so that an `@if` on a misspelt one is an error.
    compiler.set_missing_feature_behavior(wesl::Feature::Error);
    for feature in features {
        compiler.set_feature(feature, variant.contains(feature));
    }
    let name = if variant.is_empty() {
        stem.to_owned()
    } else {
        format!("{stem}.{}", variant.join("+"))
    };
    let module_path: wesl::ModulePath = format!("package::{stem}").parse()?;
    let body = compiler
        .compile(&module_path)
        .map_err(|e| e.to_string())?
        .to_string();
    let wgsl = format!("{}\n\n{body}", header.join("\n"));

    let module = naga::front::wgsl::parse_str(&wgsl).map_err(|e| e.emit_to_string(&wgsl))?;
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    validator
        .validate(&module)
        .map_err(|e| e.emit_to_string(&wgsl))?;

    let file = out_dir.join(format!("{name}.wgsl"));
    std::fs::write(&file, &wgsl)?;
    let header_text: String = header
        .iter()
        .map(|l| l.trim_start_matches('/').strip_prefix(' ').unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n");
    let mut entry = String::new();
    writeln!(
        entry,
        "    Kernel {{ name: {name:?}, stem: {stem:?}, header: {header_text:?},"
    )?;
    writeln!(
        entry,
        "        wgsl: include_str!({file:?}), source: include_str!({path:?}),"
    )?;
    writeln!(entry, "        {} }},", reflect(&module)?)?;
    Ok(entry)
}

/// The layout part of a table entry.
fn reflect(module: &naga::Module) -> Result<String, Error> {
    let mut storage = BTreeMap::new();
    let mut params = String::from("&[");
    let mut uses_step = false;
    let mut workgroup_bytes = 0;
    for (_, var) in module.global_variables.iter() {
        let binding = var.binding.map(|b| (b.group, b.binding));
        match (var.space, binding) {
            (naga::AddressSpace::Storage { access }, Some((0, index))) => {
                let writes = access.contains(naga::StorageAccess::STORE);
                storage.insert(
                    index,
                    if writes {
                        "Access::ReadWrite"
                    } else {
                        "Access::Read"
                    },
                );
            }
            (naga::AddressSpace::Uniform, Some((1, 0))) => {
                let naga::TypeInner::Struct { members, span } = &module.types[var.ty].inner else {
                    return Err("params must be a struct".into());
                };
                if *span > 256 {
                    return Err(format!("Params takes {span} bytes, 256 are allowed").into());
                }
                for member in members {
                    let naga::TypeInner::Scalar(scalar) = module.types[member.ty].inner else {
                        return Err("every field of Params must be u32 or f32".into());
                    };
                    let is_float = scalar.kind == naga::ScalarKind::Float;
                    let name = member.name.as_deref().unwrap_or_default();
                    write!(
                        params,
                        "Field {{ name: {name:?}, offset: {}, is_float: {is_float} }}, ",
                        member.offset
                    )?;
                }
            }
            (naga::AddressSpace::Uniform, Some((1, 1))) => uses_step = true,
            (naga::AddressSpace::WorkGroup, None) => {
                workgroup_bytes += match module.types[var.ty].inner {
                    naga::TypeInner::Array {
                        size: naga::ArraySize::Constant(n),
                        stride,
                        ..
                    } => n.get() * stride,
                    naga::TypeInner::Array {
                        size: naga::ArraySize::Pending(n),
                        stride,
                        ..
                    } => default_u32(module, module.overrides[n].init)? * stride,
                    _ => module.types[var.ty].inner.size(module.to_ctx()),
                };
            }
            (space, binding) => {
                return Err(format!(
                    "unexpected variable {:?} in {space:?} at {binding:?}",
                    var.name
                )
                .into());
            }
        }
    }
    params.push(']');
    if storage.keys().copied().ne(0..storage.len() as u32) {
        return Err("storage bindings of group 0 must be numbered 0, 1, 2 ...".into());
    }
    if storage.len() > 8 {
        return Err(format!(
            "{} storage buffers, WebGPU guarantees 8 per stage",
            storage.len()
        )
        .into());
    }
    let entry = module
        .entry_points
        .first()
        .filter(|e| e.name == "main")
        .ok_or("the entry point must be called main")?;
    let mut size = entry.workgroup_size;
    for (side, expression) in size
        .iter_mut()
        .zip(entry.workgroup_size_overrides.unwrap_or_default())
    {
        if expression.is_some() {
            *side = default_u32(module, expression)?;
        }
    }
    let [x, y, z] = size;
    if x * y * z > 256 || workgroup_bytes > 16384 {
        return Err(format!(
            "workgroup of {x}x{y}x{z} with {workgroup_bytes} bytes exceeds the WebGPU baseline"
        )
        .into());
    }
    let bindings = storage.values().copied().collect::<Vec<_>>().join(", ");
    Ok(format!(
        "bindings: &[{bindings}], params: {params}, uses_step: {uses_step}, workgroup: [{x}, {y}, {z}], workgroup_bytes: {workgroup_bytes}"
    ))
}

/// The number that an expression with overrides in it has when no pipeline sets them.
fn default_u32(
    module: &naga::Module,
    expression: Option<naga::Handle<naga::Expression>>,
) -> Result<u32, Error> {
    match expression.map(|e| &module.global_expressions[e]) {
        Some(naga::Expression::Literal(naga::Literal::U32(value))) => Ok(*value),
        Some(naga::Expression::Override(handle)) => {
            default_u32(module, module.overrides[*handle].init)
        }
        other => Err(format!(
            "a workgroup size must be a number or an override with a u32 default, not {other:?}"
        )
        .into()),
    }
}
