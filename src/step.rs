//! From an experiment to its step graph and plan: the one place where models, techniques and the planner meet.

use crate::data::{Samples, SourceInfo};
use crate::dtype::DType;
use crate::experiment::{Experiment, Form, Model, Transformer};
use crate::graph::{Accumulate, Class, Graph, GraphError, Op, Phase, Program, ValueId, backward};
use crate::nn::{self, Decoded, Tokens};
use crate::plan::Plan;
use crate::technique::{accumulation, clipping, optimizer};
use std::sync::Arc;

/// How many guesses count in the second measure of a classifier, where it has more classes than that.
pub const TOP: usize = 5;

/// A planned step with the values the trainer writes and reads.
#[derive(Clone, Debug)]
pub struct StepPlan {
    /// Graph, places and timeline.
    pub plan: Arc<Plan>,
    /// The batch: F32 [micro_rows, ...] for samples with a class, tokens U32 [micro_rows, context] for text.
    pub features: ValueId,
    /// The batch's labels: U32 [micro_rows], or the next token of each [micro_rows * context].
    pub labels: ValueId,
    /// Mean loss over the labels of the window, F32 [1].
    pub loss: ValueId,
    /// Global norm of the gradient before clipping, and the clip factor: F32 [2].
    pub norm: ValueId,
    /// Samples of a micro-batch.
    pub micro_rows: usize,
    /// What is measured of a classifier.
    pub hits: Hits,
    /// What a language model has beside: none for a classifier.
    pub text: Option<TextValues>,
}

/// Counts of an evaluation, F32 [1] each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hits {
    /// Rows whose best guess was right; none for text.
    pub first: Option<ValueId>,
    /// Rows whose class was among the [`TOP`] best guesses; none for text and where there are not more classes.
    pub top: Option<ValueId>,
}

/// What the trainer writes and reads for a language model.
#[derive(Clone, Copy, Debug)]
pub struct TextValues {
    /// The rows of the batch sorted by token, U32 [micro_rows * context].
    pub order: ValueId,
    /// Where the rows of each token begin in `order`, U32 [vocabulary + 1].
    pub starts: ValueId,
    /// The text to go on with, U32 [1, context].
    pub prompt: ValueId,
    /// Logits of the token after it, F32 [1, vocabulary].
    pub next_logits: ValueId,
    /// Number of different tokens.
    pub vocabulary: usize,
    /// Tokens of a sample.
    pub context: usize,
}

/// Plans the training step of `experiment` on samples as `source` describes them. Needs no device and no data.
///
/// # Errors
/// Names the layer and both shapes where two do not fit.
pub fn plan(experiment: &Experiment, source: &SourceInfo) -> Result<StepPlan, GraphError> {
    let rows = accumulation::micro_rows(experiment.data.batch, experiment.techniques.accumulate);
    let mut graph = Graph::new();
    let mut step = match (&experiment.model, &source.samples) {
        (Model::Transformer(model), Samples::Text { vocabulary }) => {
            text_step(&mut graph, model, *vocabulary, rows)?
        }
        (model, Samples::Classes { shape, class_names }) => {
            class_step(&mut graph, model, shape, class_names.len(), rows)?
        }
        (model, Samples::Text { .. }) => {
            return Err(GraphError::Samples {
                model: model.kind(),
                needs: "samples with a class each",
                found: "a text".into(),
                hint: "take model.kind = \"transformer\", or give data.source a set of pictures",
            });
        }
    };
    graph.enter(Program::Update, Phase::Update);
    step.norm = clipping::global_norm(&mut graph)?;
    optimizer::update(&mut graph, &experiment.train.optimizer, step.norm);
    step.evaluate(&mut graph, experiment)?;
    step.plan = Arc::new(Plan::new(graph));
    Ok(step)
}

/// Forward and backward of a classifier.
fn class_step(
    graph: &mut Graph,
    model: &Model,
    shape: &[usize],
    classes: usize,
    rows: usize,
) -> Result<StepPlan, GraphError> {
    let mut batch_shape = vec![rows];
    match shape {
        _ if !nn::takes_pictures(model) => batch_shape.push(shape.iter().product()),
        [height, width, channels] => batch_shape.extend([*height, *width, *channels]),
        _ => {
            return Err(GraphError::Samples {
                model: model.kind(),
                needs: "pictures [height, width, channels]",
                found: format!("rows of shape {shape:?}"),
                hint: "take model.kind = \"mlp\", or give data.source a set of pictures",
            });
        }
    }
    let features = graph.persistent("features", &batch_shape, DType::F32, Class::Data);
    let labels = graph.persistent("labels", &[rows], DType::U32, Class::Data);
    let number =
        |graph: &mut Graph, name: &str| graph.persistent(name, &[1], DType::F32, Class::Workspace);
    let loss = number(graph, "loss");
    let hits = Hits {
        first: Some(number(graph, "hits")),
        top: (classes > TOP).then(|| number(graph, "hits_top")),
    };
    graph.check_sizes()?;
    let logits = nn::classify(graph, model, features, classes, true)?;
    graph.cross_entropy("cross_entropy", logits, labels, loss)?;
    backward(graph)?;
    Ok(StepPlan::unplanned(
        features, labels, loss, hits, None, rows,
    ))
}

/// Forward and backward of a language model.
fn text_step(
    graph: &mut Graph,
    model: &Transformer,
    vocabulary: usize,
    rows: usize,
) -> Result<StepPlan, GraphError> {
    let (context, data) = (model.context, Class::Data);
    let tokens = graph.persistent("tokens", &[rows, context], DType::U32, data);
    let labels = graph.persistent("next_tokens", &[rows * context], DType::U32, data);
    let order = graph.persistent("token_order", &[rows * context], DType::U32, data);
    let starts = graph.persistent("token_starts", &[vocabulary + 1], DType::U32, data);
    let prompt = graph.persistent("prompt", &[1, context], DType::U32, data);
    let workspace = Class::Workspace;
    let loss = graph.persistent("loss", &[1], DType::F32, workspace);
    let next_logits = graph.persistent("next_logits", &[1, vocabulary], DType::F32, workspace);
    graph.check_sizes()?;
    let input = Tokens {
        tokens,
        sorted: Some([order, starts]),
        vocabulary,
    };
    let decoded = nn::decode(graph, model, input, true)?;
    text_loss(graph, model, decoded, labels, loss)?;
    backward(graph)?;
    let text = TextValues {
        order,
        starts,
        prompt,
        next_logits,
        vocabulary,
        context,
    };
    let hits = Hits::default();
    Ok(StepPlan::unplanned(
        tokens,
        labels,
        loss,
        hits,
        Some(text),
        rows,
    ))
}

/// The head of a decoder and its loss, in the form the model asks for.
fn text_loss(
    graph: &mut Graph,
    model: &Transformer,
    decoded: Decoded,
    labels: ValueId,
    loss: ValueId,
) -> Result<(), GraphError> {
    let Decoded {
        hidden,
        head,
        transposed,
    } = decoded;
    match model.loss {
        Form::Plain => {
            let logits = graph.matmul("head.matmul", hidden, head, false, transposed)?;
            graph.cross_entropy("cross_entropy", logits, labels, loss)
        }
        Form::Fused => {
            graph.linear_cross_entropy("head.loss", [hidden, head, labels], transposed, loss)
        }
    }
}

impl StepPlan {
    /// A step without its update, its evaluation and its plan.
    fn unplanned(
        features: ValueId,
        labels: ValueId,
        loss: ValueId,
        hits: Hits,
        text: Option<TextValues>,
        micro_rows: usize,
    ) -> Self {
        Self {
            plan: Arc::new(Plan::new(Graph::new())),
            features,
            labels,
            loss,
            norm: loss,
            micro_rows,
            hits,
            text,
        }
    }

    /// Adds the programs that only look: loss and measures on a batch, and the next token of a text.
    fn evaluate(&self, graph: &mut Graph, experiment: &Experiment) -> Result<(), GraphError> {
        graph.enter(Program::Evaluate, Phase::Forward);
        let (model, labels, loss) = (&experiment.model, self.labels, self.loss);
        if let (Model::Transformer(model), Some(text)) = (model, self.text) {
            let input = |tokens| Tokens {
                tokens,
                sorted: None,
                vocabulary: text.vocabulary,
            };
            let decoded = nn::decode(graph, model, input(self.features), false)?;
            text_loss(graph, model, decoded, labels, loss)?;

            graph.enter(Program::Generate, Phase::Forward);
            let decoded = nn::decode(graph, model, input(text.prompt), false)?;
            let last = graph.pick_row("last", decoded.hidden)?;
            let op = Op::Matmul {
                trans_a: false,
                trans_b: decoded.transposed,
                accumulate: Accumulate::Overwrite,
            };
            graph.push(
                "head.matmul",
                op,
                &[last, decoded.head],
                &[text.next_logits],
            );
            return Ok(());
        }
        let classes = graph
            .find("head.bias")
            .map_or(0, |head| graph[head].elements());
        let logits = nn::classify(graph, model, self.features, classes, false)?;
        graph.cross_entropy("cross_entropy", logits, labels, loss)?;
        if let Some(hits) = self.hits.first {
            graph.correct("correct", logits, labels, 1, hits)?;
        }
        if let Some(hits) = self.hits.top {
            graph.correct("correct_top", logits, labels, TOP, hits)?;
        }
        Ok(())
    }
}
