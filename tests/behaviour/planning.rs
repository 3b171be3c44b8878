//! Plans without a device: counts from the graph, rounding, limits, sharing of slots.

use crate::common::{ADAMW, mlp};
use headroom::dtype::DType;
use headroom::graph::{Class, Graph, Init, Program, backward};
use headroom::plan::{DeviceLimits, Place, Plan, lifetimes};
use std::collections::BTreeMap;

/// ME-02 and ME-03: one matrix as embedding and head counts once; two count twice.
#[test]
fn parameters_are_counted_from_the_graph_tied_or_not() {
    for (head_name, n_params) in [("embedding", 64_000), ("head", 128_000)] {
        let mut graph = Graph::new();
        let x = graph.persistent("one_hot", &[2, 1000], DType::F32, Class::Data);
        let labels = graph.persistent("labels", &[2], DType::U32, Class::Data);
        let loss = graph.persistent("loss", &[1], DType::F32, Class::Workspace);
        let embedding = graph
            .parameter("embedding", &[1000, 64], Init::Zeros)
            .unwrap();
        let hidden = graph.matmul("embed", x, embedding, false, false).unwrap();
        let head = graph
            .parameter(head_name, &[1000, 64], Init::Zeros)
            .unwrap();
        let logits = graph.matmul("logits", hidden, head, false, true).unwrap();
        graph
            .cross_entropy("cross_entropy", logits, labels, loss)
            .unwrap();
        backward(&mut graph).unwrap();
        assert_eq!(graph.n_params(), n_params);
        let resident = Plan::new(graph).resident();
        assert_eq!(resident.get(Class::Weights), n_params as u64 * 4);
        assert_eq!(resident.get(Class::Gradients), n_params as u64 * 4);
    }
}

/// ME-05: the lines a states-only estimate leaves out.
#[test]
fn the_plan_has_activations_workspace_and_the_batch_as_lines_of_their_own() {
    let source = crate::common::fashion_mnist();
    let experiment = mlp("[32]", 2048, 1, ADAMW);
    let step = headroom::step::plan(&experiment, &source).unwrap();
    let report = headroom::report::plan_report(&experiment, &step);
    let by_class = report.memory.peak_by_class;
    assert_eq!(by_class.get(Class::Data), 2048 * 784 * 4 + 2048 * 4);
    assert!(by_class.get(Class::Activations) >= 2 * 2048 * 32 * 4);
    assert!(by_class.get(Class::Workspace) > 0);
    assert_eq!(
        report.memory.host.prefetch_bytes,
        Some(2048 * 784 * 4 + 2048 * 4)
    );
    let states = by_class.get(Class::Weights)
        + by_class.get(Class::Gradients)
        + by_class.get(Class::OptimizerState);
    assert!(
        states < report.memory.peak_bytes.predicted / 10,
        "states are the small part here"
    );
}

/// ME-11: the plan rounds as the pool does.
#[test]
fn every_buffer_is_rounded_to_256_bytes_and_no_further() {
    let mut graph = Graph::new();
    for index in 0..1000 {
        graph
            .parameter(&format!("p{index}"), &[5, 1], Init::Zeros)
            .unwrap();
    }
    let big = graph
        .parameter("big", &[5 << 20, 256], Init::Zeros)
        .unwrap();
    // A value that no node uses still has its place: it is a parameter.
    let plan = Plan::new(graph);
    assert_eq!(plan.pool_bytes(big), 5 << 30);
    assert_eq!(plan.resident().get(Class::Weights), 256_000 + (5 << 30));
}

/// GP-01: a value above the binding limit is refused before anything is allocated, by name, size and limit.
#[test]
fn a_value_too_large_for_the_adapter_is_named_with_size_and_limit() {
    let mut graph = Graph::new();
    graph
        .parameter("logits", &[36_711_938], Init::Zeros)
        .unwrap();
    let error = Plan::new(graph)
        .check_limits(DeviceLimits::BASELINE)
        .unwrap_err()
        .to_string();
    for part in ["logits", "146847752", "134217728"] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
}

#[test]
fn a_product_wider_than_a_dispatch_is_named_with_its_columns() {
    let source = crate::common::fashion_mnist();
    let plan = headroom::step::plan(&mlp("[1, 600001]", 1, 1, ADAMW), &source)
        .unwrap()
        .plan;
    let error = plan
        .check_limits(DeviceLimits::BASELINE)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("layer1.matmul") && error.contains("600001"),
        "{error}"
    );
}

#[test]
fn a_batch_that_no_kernel_can_address_is_refused_by_name() {
    let source = crate::common::fashion_mnist();
    let error = headroom::step::plan(&mlp("[10]", 6_000_000, 1, ADAMW), &source)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("features") && error.contains("6000000"),
        "{error}"
    );
}

/// No two values that are alive at the same node share a slot, except where one gives its bytes to the other in place.
pub(crate) fn assert_no_slot_is_shared(plan: &Plan, what: &str) {
    for program in &plan.programs {
        let alive = lifetimes(&plan.graph, program.program);
        for (index, planned) in program.nodes.iter().enumerate() {
            let mut owners = BTreeMap::new();
            for (value, life) in &alive {
                let given_on = planned.in_place == Some(*value);
                if life.first <= index && index <= life.last && !given_on {
                    let Place::Slot(slot) = plan.places[value.0] else {
                        panic!("{what}: {value:?} has no slot")
                    };
                    let other = owners.insert(slot, value);
                    assert_eq!(other, None, "{what}: node {index}");
                }
            }
        }
    }
}

#[test]
fn values_that_are_alive_together_never_share_a_slot() {
    let source = crate::common::fashion_mnist();
    for hidden in ["[]", "[8]", "[64, 32, 64, 16]"] {
        let mut experiment = mlp(hidden, 16, 1, ADAMW);
        let headroom::experiment::Model::Mlp(mlp) = &mut experiment.model else {
            panic!("an mlp")
        };
        mlp.dropout = 0.5;
        let plan = headroom::step::plan(&experiment, &source).unwrap().plan;
        assert_no_slot_is_shared(&plan, hidden);
    }
}

#[test]
fn evaluation_keeps_no_activations_and_takes_no_memory_of_its_own() {
    let source = crate::common::fashion_mnist();
    let plan = headroom::step::plan(&mlp("[64, 64]", 32, 1, ADAMW), &source)
        .unwrap()
        .plan;
    let evaluate = plan.program(Program::Evaluate).unwrap();
    for moment in &evaluate.timeline {
        assert_eq!(moment.get(Class::Activations), 0);
    }
    let accumulate_peak = plan
        .program(Program::Accumulate)
        .unwrap()
        .timeline
        .iter()
        .map(|b| b.allocated())
        .max();
    assert!(evaluate.timeline.iter().map(|b| b.allocated()).max() < accumulate_peak);
}

/// ME-14: one network, one number, however it is asked for.
#[test]
fn the_plan_is_the_same_from_file_from_resolved_toml_and_from_json() {
    let source = crate::common::fashion_mnist();
    let experiment = mlp("[100, 50]", 30, 1, ADAMW);
    let toml = experiment.to_toml().unwrap();
    let from_toml =
        headroom::experiment::Experiment::from_toml(&toml, "t", &|p| Err(p.into())).unwrap();
    let from_json = serde_json::from_str(&serde_json::to_string(&experiment).unwrap()).unwrap();
    let bytes = |e| headroom::step::plan(e, &source).unwrap().plan.timeline();
    assert_eq!(bytes(&experiment), bytes(&from_toml));
    assert_eq!(bytes(&experiment), bytes(&from_json));
}
