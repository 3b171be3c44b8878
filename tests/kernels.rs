//! Every kernel of `shaders/` against its CPU twin, on a GPU adapter, which must be there.

mod common {
    pub(crate) mod attention_cases;
    mod attention_rules;
    pub(crate) mod compare;
    pub(crate) mod conv_cases;
    pub(crate) mod image_cases;
    pub(crate) mod kernel_cases;
    pub(crate) mod kernel_harness;
    pub(crate) mod matmul_cases;
    pub(crate) mod text_cases;
    pub(crate) mod training_cases;
    mod wrong_kernels;
}

use common::compare::{Agreement, EXACT, compare, compare_bits};
use common::kernel_cases::{self, STEP};
use common::kernel_harness::{Case, Gpu, Grid, Operand};
use common::{matmul_cases, text_cases};
use headroom::engine::cpu::twins::twin;
use headroom::engine::kernel::{IGNORE, KERNELS, Params, Step, fold_groups, kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::mem::{offset_of, size_of};
use std::path::Path;

/// Runs all cases and fails with everything that went wrong at once.
fn check_all(gpu: &Gpu, cases: &[Case]) {
    assert!(!cases.is_empty(), "no cases");
    let mut failures = Vec::new();
    let mut worst = (Agreement::default(), "all exact");
    for case in cases {
        match case.check(gpu) {
            Ok(seen) if seen.used > worst.0.used => worst = (seen, case.kernel),
            Ok(_) => {}
            Err(failure) => failures.push(failure),
        }
    }
    println!(
        "{} cases, nearest to its tolerance: {} ({})",
        cases.len(),
        worst.1,
        worst.0
    );
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn every_kernel_agrees_with_its_twin_at_awkward_sizes() {
    check_all(
        &Gpu::open("every_kernel_agrees_with_its_twin_at_awkward_sizes"),
        &kernel_cases::all(),
    );
}

#[test]
fn every_rung_of_the_matmul_ladder_agrees_with_the_twin_on_one_table_of_shapes() {
    let gpu =
        Gpu::open("every_rung_of_the_matmul_ladder_agrees_with_the_twin_on_one_table_of_shapes");
    let cases: Vec<Case> = rungs().flat_map(matmul_cases::cases).collect();
    for rung in rungs() {
        let count = cases.iter().filter(|c| c.kernel == rung).count();
        assert!(count >= 30, "{rung} has {count} cases only");
    }
    check_all(&gpu, &cases);
    check_all(
        &gpu,
        &rungs().map(matmul_cases::rounded).collect::<Vec<_>>(),
    );
}

fn rungs() -> impl Iterator<Item = &'static str> {
    KERNELS
        .iter()
        .map(|k| k.name)
        .filter(|name| name.starts_with("matmul_"))
}

#[test]
fn every_kernel_and_variant_has_a_case() {
    let tested: BTreeSet<&str> = kernel_cases::all()
        .iter()
        .map(|c| c.kernel)
        .chain(rungs().filter(|r| !matmul_cases::cases(r).is_empty()))
        .collect();
    let missing: Vec<&str> = KERNELS
        .iter()
        .map(|k| k.name)
        .filter(|name| !tested.contains(name))
        .collect();
    assert!(
        missing.is_empty(),
        "no case in tests/common/kernel_cases.rs for {missing:?}"
    );
}

#[test]
fn every_kernel_has_a_twin_and_every_twin_a_kernel() {
    let missing: Vec<&str> = KERNELS
        .iter()
        .map(|k| k.stem)
        .filter(|stem| twin(stem).is_none())
        .collect();
    assert!(missing.is_empty(), "twins.rs has no entry for {missing:?}");

    // The first line of a twin names its shader; a twin that serves a whole ladder names every rung.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("src/engine/cpu")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(header) = text.lines().next().filter(|l| l.starts_with("//! Twin of")) else {
            continue;
        };
        for shader in header.split("`shaders/").skip(1) {
            let stem = shader.split(".wgsl`").next().unwrap().to_owned();
            if stem.starts_with("lib/") {
                continue;
            }
            let twins: &mut usize = named.entry(stem).or_default();
            *twins += 1;
        }
    }
    let expected: BTreeMap<String, usize> =
        KERNELS.iter().map(|k| (k.stem.to_owned(), 1)).collect();
    assert_eq!(named, expected, "shaders named by the first lines of twins");
}

#[test]
fn the_step_uniform_is_laid_out_as_the_shaders_declare_it() {
    let expected = [
        ("seed", offset_of!(Step, seed)),
        ("update", offset_of!(Step, update)),
        ("micro", offset_of!(Step, micro)),
        ("rows", offset_of!(Step, rows)),
        ("inv_samples", offset_of!(Step, inv_samples)),
        ("lr", offset_of!(Step, lr)),
        ("bias1", offset_of!(Step, bias1)),
        ("bias2", offset_of!(Step, bias2)),
        ("max_norm", offset_of!(Step, max_norm)),
    ];
    let mut checked = 0;
    for kernel in KERNELS.iter().filter(|k| k.uses_step) {
        let module = naga::front::wgsl::parse_str(kernel.wgsl).unwrap();
        let (_, ty) = module
            .types
            .iter()
            .find(|(_, t)| t.name.as_deref() == Some("Step"))
            .expect("struct Step");
        let naga::TypeInner::Struct { members, span } = &ty.inner else {
            panic!("Step is not a struct")
        };
        let found: Vec<_> = members
            .iter()
            .map(|m| (m.name.as_deref().unwrap_or(""), m.offset as usize))
            .collect();
        assert_eq!(found, expected, "{}", kernel.name);
        assert_eq!(*span as usize, size_of::<Step>(), "{}", kernel.name);
        checked += 1;
    }
    assert!(checked > 5, "{checked} kernels use the step uniform");
}

/// One-dimensional dispatches end at 65535 workgroups. Here one is exactly as large, the next one workgroup larger.
#[test]
fn dispatches_above_65535_workgroups_reach_the_last_element() {
    let gpu = Gpu::open("dispatches_above_65535_workgroups_reach_the_last_element");
    assert_eq!(fold_groups(65535), [65535, 1, 1]);
    assert_eq!(fold_groups(65536), [32768, 2, 1]);
    let mut cases = Vec::new();
    for groups in [65535, 65536] {
        // One element more than the groups before the last one hold, so that the last group has a single invocation.
        let full = if groups == 65535 {
            65535 * 64
        } else {
            65535 * 64 + 1
        };
        assert_eq!(usize::div_ceil(full, 64), groups);
        let x: Vec<f32> = (0..full).map(|i| (i % 1_000_003) as f32).collect();
        let params = Params::new()
            .with("rows", full)
            .with("cols", 1)
            .with_f32("factor", 1.0);
        cases.push(Case {
            kernel: "reduce.cols",
            label: format!("{groups} groups, an element each"),
            params: params.with("accumulate", 0).with("per_sample", 0),
            step: STEP,
            operands: vec![Operand::input(&x), Operand::Output(full, EXACT)],
            grid: Grid::Invocations(full),
        });
        let n = if groups == 65535 {
            4 * full
        } else {
            4 * (full - 1) + 1
        };
        let x: Vec<f32> = (0..n).map(|i| (i % 1_000_003) as f32 - 1000.0).collect();
        cases.push(Case {
            kernel: "relu.in_place",
            label: format!("{groups} groups, four elements each"),
            params: Params::new().with("n", n),
            step: STEP,
            operands: vec![Operand::InOut(x, EXACT)],
            grid: Grid::Invocations(n.div_ceil(4)),
        });
        // A workgroup to a row.
        cases.push(text_cases::norm(
            "layer_norm.group",
            (groups, 2),
            text_cases::Rows::Spread,
        ));
    }
    check_all(&gpu, &cases);
}

/// What a kernel writes into its last binding.
fn output(
    gpu: &Gpu,
    name: &'static str,
    params: Params,
    step: Step,
    operands: Vec<Operand>,
    invocations: usize,
) -> Vec<f32> {
    let case = Case {
        kernel: name,
        label: String::new(),
        params,
        step,
        operands,
        grid: Grid::Invocations(invocations),
    };
    let buffers = case.run(gpu, kernel(name).unwrap()).unwrap();
    buffers
        .last()
        .unwrap()
        .iter()
        .map(|w| f32::from_bits(*w))
        .collect()
}

#[test]
fn broken_numbers_stay_visible() {
    let gpu = Gpu::open("broken_numbers_stay_visible");
    let (x, size) = (
        Operand::input(&[1.0, f32::NAN, -1.0]),
        Params::new().with("n", 3),
    );
    for name in ["relu", "gelu.exact", "gelu.tanh"] {
        let y = output(
            &gpu,
            name,
            size.clone(),
            STEP,
            vec![x.clone(), Operand::Output(3, EXACT)],
            1,
        );
        assert!(
            y[1].is_nan() && y[0].is_finite() && y[2].is_finite(),
            "{name}: {y:?}"
        );
    }

    // A label that is no class: the loss of that row, and of no other, is NaN. So it is with a NaN among the logits.
    for name in ["cross_entropy.row", "cross_entropy.group"] {
        let labels = Operand::Input(vec![1, 3, IGNORE, 0]);
        let mut logits = [0.5; 12];
        logits[11] = f32::NAN;
        let operands = vec![
            Operand::input(&logits),
            labels,
            Operand::Output(4, EXACT),
            Operand::Output(4, EXACT),
        ];
        let params = Params::new().with("rows", 4).with("classes", 3);
        let case = Case {
            kernel: name,
            label: String::new(),
            params,
            step: STEP,
            operands,
            grid: text_cases::row_grid(name, 4),
        };
        let buffers = case.run(&gpu, kernel(name).unwrap()).unwrap();
        let loss: Vec<f32> = buffers[2].iter().map(|w| f32::from_bits(*w)).collect();
        let right = (loss[0] - 3f32.ln()).abs() < 1e-6 && loss[2] == 0.0;
        assert!(
            right && loss[1].is_nan() && loss[3].is_nan(),
            "{name}: {loss:?}"
        );
    }

    // A token that is not in the table: its row, and no other, is NaN.
    for (name, invocations) in [("embedding", 12), ("embedding.vec4", 3)] {
        let params = Params::new().with("rows", 3).with("vocabulary", 2);
        let operands = vec![
            Operand::Input(vec![1, 2, 0]),
            Operand::input(&[0.5; 8]),
            Operand::Output(12, EXACT),
        ];
        let params = params.with("cols", 4);
        let y = output(&gpu, name, params, STEP, operands, invocations);
        let nan: Vec<bool> = y.iter().map(|y| y.is_nan()).collect();
        assert_eq!(nan, [[false; 4], [true; 4], [false; 4]].concat(), "{name}");
    }

    // Clipping never makes a gradient of infinite or unknown norm look like a good one.
    for broken in [f32::INFINITY, f32::NAN, f32::MAX] {
        let finish = |max_norm| {
            let operands = vec![
                Operand::input(&[1.0, broken, broken]),
                Operand::Output(2, EXACT),
            ];
            output(
                &gpu,
                "norm_finish",
                Params::new().with("count", 3),
                Step { max_norm, ..STEP },
                operands,
                1,
            )
        };
        let clipped = finish(1.0);
        assert!(
            !clipped[0].is_finite() && clipped[1].is_nan(),
            "{broken}: {clipped:?}"
        );
        assert_eq!(
            finish(0.0)[1],
            1.0,
            "without clipping the gradient is left as it is"
        );
    }
}

/// The gradient of a window whose micro-batches gave [2, 0] and [0, 2], in the mean: norm 1.41421, clipped to 0.70711 each.
#[test]
fn clipping_scales_the_whole_gradient_to_the_largest_norm() {
    let gpu = Gpu::open("clipping_scales_the_whole_gradient_to_the_largest_norm");
    let step = Step {
        lr: 1.0,
        max_norm: 1.0,
        ..STEP
    };
    let g = Operand::input(&[1.0, 1.0]);
    let case = Case {
        kernel: "norm_partials",
        label: String::new(),
        params: Params::new().with("n", 2).with("offset", 0),
        step,
        operands: vec![g.clone(), Operand::Output(64, EXACT)],
        grid: Grid::Groups(64, 1),
    };
    let partials = Operand::Input(
        case.run(&gpu, kernel("norm_partials").unwrap())
            .unwrap()
            .remove(1),
    );
    let norm = output(
        &gpu,
        "norm_finish",
        Params::new().with("count", 64),
        step,
        vec![partials, Operand::Output(2, EXACT)],
        1,
    );
    assert!(
        (norm[0] - SQRT_2).abs() < 1e-5 && (norm[1] - FRAC_1_SQRT_2).abs() < 1e-5,
        "{norm:?}"
    );
    let operands = vec![
        Operand::input(&norm),
        g,
        Operand::InOut(vec![0.0; 2], EXACT),
    ];
    let w = output(
        &gpu,
        "sgd",
        Params::new().with("n", 2).with_f32("weight_decay", 0.0),
        step,
        operands,
        1,
    );
    assert!((w[0] + FRAC_1_SQRT_2).abs() < 1e-5 && w[0] == w[1], "{w:?}");
}

#[test]
fn the_same_launch_gives_the_same_bits() {
    let gpu = Gpu::open("the_same_launch_gives_the_same_bits");
    let mut launched = 0;
    // Real numbers, whose sums depend on the order of the additions.
    let cases = kernel_cases::all()
        .into_iter()
        .filter(|c| ["reduce.all", "norm_finish", "cross_entropy.group"].contains(&c.kernel));
    for case in cases.chain(rungs().map(matmul_cases::rounded)) {
        let run = || case.run(&gpu, kernel(case.kernel).unwrap()).unwrap();
        for (first, second) in run().iter().zip(&run()) {
            let _ = compare_bits(first, second)
                .unwrap_or_else(|e| panic!("{} ({}): {e}", case.kernel, case.label));
        }
        launched += 1;
    }
    assert!(launched > 20, "{launched} launches");
}

/// The register rung leaves the sums in another order than the naive one, yet both must be a product.
#[test]
fn a_product_with_the_identity_is_the_other_factor_on_every_rung() {
    let gpu = Gpu::open("a_product_with_the_identity_is_the_other_factor_on_every_rung");
    for rung in rungs() {
        let mut case = matmul_cases::cases(rung)
            .into_iter()
            .find(|c| c.label.starts_with("64x64x64"))
            .unwrap();
        let symmetric: Vec<f32> = (0..4096)
            .map(|i| ((i / 64 + 1) * (i % 64 + 1)) as f32)
            .collect();
        let identity: Vec<f32> = (0..4096)
            .map(|i| if i / 64 == i % 64 { 1.0 } else { 0.0 })
            .collect();
        case.operands = vec![
            Operand::input(&symmetric),
            Operand::input(&identity),
            Operand::Output(4096, EXACT),
        ];
        let c = case.run(&gpu, kernel(rung).unwrap()).unwrap().remove(2);
        let c: Vec<f32> = c.into_iter().map(f32::from_bits).collect();
        let _ = compare(&c, &symmetric, EXACT).unwrap_or_else(|e| panic!("{rung}: {e}"));
    }
}
