//! The limits of a device: long work, large values, readbacks, and its loss.

use crate::common::{ADAMW, engine, mlp, tiny_data, train, trainer};
use headroom::engine::{EngineChoice, EngineError, Step};
use headroom::graph::{Accumulate, Axis, Class, Graph, Init, Op, Program};
use headroom::plan::{LAUNCH_MULTIPLY_ADDS, Plan};
use std::sync::Arc;

const GPU: EngineChoice = EngineChoice::Gpu;

/// GP-05: on the loss of the device the reason and an advice come out, and no panic.
#[test]
fn a_lost_device_ends_the_training_with_reason_and_advice() {
    let mut gpu = pollster::block_on(headroom::engine::gpu::GpuEngine::open()).unwrap();
    use headroom::engine::Engine as _;
    let step =
        headroom::step::plan(&mlp("[8]", 4, 1, ADAMW), &crate::common::fashion_mnist()).unwrap();
    gpu.load(step.plan, None).unwrap();
    for _ in 0..7 {
        pollster::block_on(gpu.run(Program::Accumulate, &Step::default())).unwrap();
    }
    gpu.simulate_device_loss();
    for _ in 0..2 {
        let error = pollster::block_on(gpu.run(Program::Accumulate, &Step::default())).unwrap_err();
        assert!(matches!(error, EngineError::DeviceLost { .. }));
        assert!(error.to_string().contains("Start again"), "{error}");
    }
}

/// GP-05: a product of 8192-square matrices is 550 billion multiply-adds; no launch does more than eight rows of it,
/// half a billion, which a software adapter does in a fifth of a second.
#[test]
fn long_products_are_cut_into_short_launches() {
    let mut graph = Graph::new();
    let x = graph.persistent("x", &[8192, 8192], headroom::dtype::DType::F32, Class::Data);
    let w = graph.parameter("w", &[8192, 8192], Init::Zeros).unwrap();
    graph.matmul("product", x, w, false, false).unwrap();
    let plan = Plan::new(graph);
    let node = &plan.programs[0].nodes[0];
    for cut in &node.cuts {
        let work = (cut.rows * 8192 * 8192) as u64;
        assert!(
            work <= LAUNCH_MULTIPLY_ADDS.max(8 * 8192 * 8192),
            "{work} in one launch"
        );
    }
    assert_eq!(node.cuts.iter().map(|c| c.rows).sum::<usize>(), 8192);
    for pair in node.cuts.windows(2) {
        assert_eq!(pair[0].row0 + pair[0].rows, pair[1].row0);
    }
}

/// GP-05: the cut product is the uncut one.
#[test]
fn a_cut_product_is_computed_whole() {
    let mut graph = Graph::new();
    let (m, k, n) = (320, 1024, 4099);
    let x = graph.persistent("x", &[m, k], headroom::dtype::DType::F32, Class::Data);
    let w = graph.parameter("w", &[k, n], Init::Zeros).unwrap();
    let sum = graph.persistent("sum", &[m], headroom::dtype::DType::F32, Class::Workspace);
    let y = graph.matmul("product", x, w, false, false).unwrap();
    let op = Op::Reduce {
        axis: Axis::Cols,
        factor: 1.0,
        per_sample: false,
        accumulate: Accumulate::Overwrite,
    };
    graph.push("sum", op, &[y], &[sum]);
    let plan = Arc::new(Plan::new(graph));
    assert!(plan.programs[0].nodes[0].cuts.len() > 1);
    let mut gpu = engine(GPU, "a_cut_product_is_computed_whole");
    gpu.load(plan, None).unwrap();
    // Row i of x is i in its first place, so row i of the product is i times the first row of ones.
    let mut words = vec![0u32; m * k];
    for row in 0..m {
        words[row * k] = (row as f32).to_bits();
    }
    gpu.upload(x, &words).unwrap();
    gpu.upload(w, &vec![1f32.to_bits(); k * n]).unwrap();
    pollster::block_on(gpu.run(Program::Accumulate, &Step::default())).unwrap();
    let sums = pollster::block_on(gpu.read(sum)).unwrap();
    for (row, word) in sums.into_iter().enumerate() {
        assert_eq!(f32::from_bits(word), (row * n) as f32, "row {row}");
    }
}

/// GP-01: the engine refuses before it has allocated anything.
#[test]
fn a_value_above_the_adapters_limit_is_refused_before_anything_is_allocated() {
    let mut graph = Graph::new();
    let too_large = 1 << 30;
    graph
        .parameter("logits", &[too_large], Init::Zeros)
        .unwrap();
    let mut gpu = engine(GPU, "a_value_above_the_adapters_limit_is_refused");
    let refused = gpu.load(Arc::new(Plan::new(graph)), None);
    // An adapter that binds 4 GiB at once may take it.
    match refused {
        Err(EngineError::Limit(error)) => {
            let text = error.to_string();
            assert!(
                text.contains("logits") && text.contains("4294967296"),
                "{text}"
            );
            assert_eq!(gpu.buffers_made(), (0, 0));
        }
        Err(EngineError::OutOfMemory(_)) | Ok(()) => {}
        Err(other) => panic!("{other}"),
    }
}

/// GP-10, native side: a hundred losses read back one by one, each there, in order.
#[test]
fn a_hundred_readbacks_arrive_in_order_without_blocking_for_ever() {
    let mut trainer = trainer(
        mlp("[4]", 4, 100, ADAMW),
        &tiny_data(40),
        GPU,
        "a_hundred_readbacks_arrive_in_order",
    );
    let results = train(&mut trainer, 100);
    let updates: Vec<usize> = results.iter().map(|r| r.update).collect();
    assert_eq!(updates, (0..100).collect::<Vec<_>>());
    assert!(
        results
            .iter()
            .all(|r| r.loss.is_finite() && r.gradient_norm > 0.0)
    );
}
