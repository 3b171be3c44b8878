//! From an experiment to its step graph and plan: the one place where models, techniques and the planner meet.

use crate::data::SourceInfo;
use crate::dtype::DType;
use crate::experiment::Experiment;
use crate::graph::{Class, Graph, GraphError, Phase, Program, ValueId, backward};
use crate::nn;
use crate::plan::Plan;
use crate::technique::{accumulation, clipping, optimizer};
use std::sync::Arc;

/// A planned step with the values the trainer writes and reads.
#[derive(Clone, Debug)]
pub struct StepPlan {
    /// Graph, places and timeline.
    pub plan: Arc<Plan>,
    /// The batch's features, F32 [micro_rows, features].
    pub features: ValueId,
    /// The batch's labels, U32 [micro_rows].
    pub labels: ValueId,
    /// Mean loss over the window, F32 [1].
    pub loss: ValueId,
    /// Rows of an evaluation batch that were right, F32 [1].
    pub hits: ValueId,
    /// Global norm of the gradient before clipping, and the clip factor: F32 [2].
    pub norm: ValueId,
    /// Rows of a micro-batch.
    pub micro_rows: usize,
}

/// Plans the training step of `experiment` on samples as `source` describes them. Needs no device and no data.
///
/// # Errors
/// Names the layer and both shapes where two do not fit.
pub fn plan(experiment: &Experiment, source: &SourceInfo) -> Result<StepPlan, GraphError> {
    let rows = accumulation::micro_rows(experiment.data.batch, experiment.techniques.accumulate);
    let n_features: usize = source.sample_shape.iter().product();
    let mut graph = Graph::new();
    let features = graph.persistent("features", &[rows, n_features], DType::F32, Class::Data);
    let labels = graph.persistent("labels", &[rows], DType::U32, Class::Data);
    let loss = graph.persistent("loss", &[1], DType::F32, Class::Workspace);
    let hits = graph.persistent("hits", &[1], DType::F32, Class::Workspace);

    graph.check_sizes()?;

    let logits = nn::forward(
        &mut graph,
        &experiment.model,
        features,
        source.classes(),
        true,
    )?;
    graph.cross_entropy("cross_entropy", logits, labels, loss)?;
    backward(&mut graph)?;

    graph.enter(Program::Update, Phase::Update);
    let norm = clipping::global_norm(&mut graph)?;
    optimizer::update(&mut graph, &experiment.train.optimizer, norm);

    graph.enter(Program::Evaluate, Phase::Forward);
    let logits = nn::forward(
        &mut graph,
        &experiment.model,
        features,
        source.classes(),
        false,
    )?;
    graph.cross_entropy("cross_entropy", logits, labels, loss)?;
    graph.correct("correct", logits, labels, hits)?;

    Ok(StepPlan {
        plan: Arc::new(Plan::new(graph)),
        features,
        labels,
        loss,
        hits,
        norm,
        micro_rows: rows,
    })
}
