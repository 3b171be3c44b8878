//! Training: one async state machine that drives an engine through optimizer updates. Natively it runs on a thread of
//! its own, in a browser on the event loop; the code is the same.

mod batch;
mod breathe;
mod generate;
mod history;
mod init;
mod session;

pub use generate::{Generation, Sampling};
pub use history::UpdateResult;
pub use session::{Command, Session, SessionState, Status};

use crate::data::order::{Windows, micro_batches};
use crate::data::{Batch, DataError, SourceInfo, Split};
use crate::engine::{self, Engine, EngineChoice, EngineError, OutOfMemory, Readback, Step};
use crate::experiment::{Experiment, OptimizerKind};
use crate::graph::{GraphError, Program, ValueId};
use crate::report::{self, Evaluation, Metrics, Report};
use crate::step::{self, Hits, StepPlan};
use crate::units::Bytes;
use breathe::breathe;
use history::History;
use std::sync::Arc;
use web_time::Instant;

/// A training could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The samples could not be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The network cannot be built as described.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user asked for the end.
    #[error("the training was interrupted after {updates} updates; the report holds what was done")]
    Interrupted {
        /// Updates done.
        updates: usize,
    },
    /// A text was asked of a model that has none to give.
    #[error(
        "model.kind = \"{kind}\" predicts no text; a sample needs model.kind = \"transformer\""
    )]
    NoText {
        /// The model.
        kind: &'static str,
    },
    /// Batch normalisation would meet a micro-batch of one value per channel.
    #[error(
        "data.batch = {batch}: {samples} samples leave a micro-batch of one, and \"{layer}\" would have one value per channel, of which there is no variance; set data.last_batch = \"drop\" or \"balance\", or change data.batch or techniques.accumulate"
    )]
    OneSample {
        /// Samples per update.
        batch: usize,
        /// Training samples.
        samples: usize,
        /// The layer.
        layer: String,
    },
    /// The loss or its gradient is no number any more.
    #[error(
        "the training diverged: at update {update} the loss is {loss}, or its gradient is no number. Lower train.optimizer.lr, add train.schedule.warmup, or set train.clip"
    )]
    Diverged {
        /// The update.
        update: usize,
        /// Its loss.
        loss: f32,
    },
}

/// A training in progress.
pub struct Trainer {
    experiment: Experiment,
    split: Arc<Split>,
    source: SourceInfo,
    step: StepPlan,
    /// The report of the plan, to which the measured numbers are added.
    planned: Report,
    engine: Box<dyn Engine>,
    notice: Option<String>,
    windows: Windows,
    updates_done: usize,
    history: History,
    metrics: Metrics,
    evaluations: Vec<Evaluation>,
    batch: Batch,
    sample: Option<String>,
}

impl Trainer {
    /// Opens an engine, plans the step, and puts the initial weights in place.
    ///
    /// # Errors
    /// [`TrainError::Graph`], [`TrainError::Engine`], and [`TrainError::OneSample`] where batch normalisation would meet a
    /// micro-batch it has no variance for.
    pub async fn new(
        experiment: Experiment,
        split: Arc<Split>,
        choice: EngineChoice,
    ) -> Result<Self, TrainError> {
        let source = split.info.clone();
        let step = step::plan(&experiment, &source)?;
        let planned = report::plan_report(&experiment, &step);
        let (engine, notice) = engine::open(choice).await?;
        let windows = Windows::new(
            experiment.seed,
            split.train.len() as u32,
            experiment.data.batch,
            experiment.data.shuffle,
            experiment.data.last_batch,
        );
        let mut trainer = Self {
            experiment,
            notice: notices(notice.as_deref(), &split.notices),
            split,
            source,
            step,
            planned,
            engine,
            windows,
            updates_done: 0,
            history: History::default(),
            metrics: Metrics::default(),
            evaluations: Vec::new(),
            batch: Batch::default(),
            sample: None,
        };
        trainer.check_micro_batches()?;
        trainer.fit_to_data();
        trainer.load().map_err(|error| trainer.advised(error))?;
        Ok(trainer)
    }

    /// Something the user should know about the engine, such as that there is no adapter.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Optimizer updates of the whole run.
    pub fn total_updates(&self) -> usize {
        self.experiment
            .train
            .total_updates(self.windows.updates_per_epoch())
    }

    /// Optimizer updates that have been started.
    pub fn updates_done(&self) -> usize {
        self.updates_done
    }

    /// Whether the experiment asks for an evaluation after the updates done so far.
    pub fn is_evaluation_due(&self) -> bool {
        let every = self.experiment.train.evaluate_every;
        every.is_some_and(|every| self.updates_done.is_multiple_of(every))
    }

    /// Samples per second over the run so far; 0 before the first update.
    pub fn samples_per_second(&self) -> f64 {
        self.history.samples_per_second()
    }

    /// The engine, for what a test wants to read or break.
    pub fn engine_mut(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    /// Changes the budget of a training in progress. If more is taken already, the next update is refused with
    /// [`EngineError::OutOfMemory`] and everything stays as it is.
    pub fn set_budget(&mut self, budget: Option<Bytes>) {
        self.experiment.memory.budget = budget;
        self.engine.set_budget(budget.map(|b| b.0));
    }

    /// The planned step.
    pub fn step_plan(&self) -> &StepPlan {
        &self.step
    }

    /// Makes one optimizer update: all micro-batches of a window, then `update`. Gives the results that have arrived,
    /// which may be those of earlier updates: nothing waits for the device as long as it keeps up.
    ///
    /// # Errors
    /// [`TrainError::Diverged`], and [`TrainError::Engine`] with the training state as it was before this update.
    pub async fn step(&mut self) -> Result<Vec<UpdateResult>, TrainError> {
        let started = Instant::now();
        let update = self.updates_done;
        let lr = self.learning_rate(update);
        self.windows.seek(update);
        let window = self.windows.next_window();
        let (epoch, n_samples) = (window.epoch, window.indices.len());
        let indices = window.indices.to_vec();
        let mut filling = 0.0;
        // The mean is over labels, not over samples or micro-batches: a text may end in the middle of a sample.
        let n_targets = self.split.train.targets(&indices);
        let mut numbers = self.step_numbers(update, n_targets, lr);
        for (micro, samples) in micro_batches(&indices, self.step.micro_rows).enumerate() {
            let filled = Instant::now();
            self.upload_batch(true, samples)?;
            filling += filled.elapsed().as_secs_f64() * 1e3;
            numbers.micro = micro as u32;
            numbers.rows = samples.len() as u32;
            self.run(Program::Accumulate, &numbers).await?;
            breathe().await;
        }
        self.run(Program::Update, &numbers).await?;
        self.updates_done += 1;
        let result = UpdateResult {
            update,
            epoch,
            loss: 0.0,
            gradient_norm: 0.0,
            lr,
        };
        self.history.started(result, started, n_samples, filling);
        let values = [self.step.loss, self.step.norm];
        let arrived = self.engine.request(update as u64, &values).await?;
        self.take_results(&arrived)
    }

    /// Waits for the results of all updates.
    ///
    /// # Errors
    /// As [`Trainer::step`].
    pub async fn flush(&mut self) -> Result<Vec<UpdateResult>, TrainError> {
        let arrived = self.engine.flush().await?;
        self.take_results(&arrived)
    }

    /// Measures loss and accuracy on the whole test set, without dropout and without keeping activations.
    ///
    /// # Errors
    /// As [`Trainer::step`].
    pub async fn evaluate(&mut self) -> Result<Metrics, TrainError> {
        self.flush().await?;
        let n_test = self.split.test.len();
        let indices: Vec<u32> = (0..n_test as u32).collect();
        let n_targets = self.split.test.targets(&indices);
        let mut numbers = self.step_numbers(self.updates_done, n_targets, 0.0);
        let Hits { first, top } = self.step.hits;
        let values: Vec<ValueId> = [Some(self.step.loss), first, top]
            .into_iter()
            .flatten()
            .collect();
        let mut arrived = Vec::new();
        for (batch, samples) in micro_batches(&indices, self.step.micro_rows).enumerate() {
            self.upload_batch(false, samples)?;
            numbers.micro = batch as u32;
            numbers.rows = samples.len() as u32;
            self.run(Program::Evaluate, &numbers).await?;
            breathe().await;
            // Asked for after every batch, so that no more than a few are ever queued on the device.
            arrived.extend(self.engine.request(batch as u64, &values).await?);
        }
        arrived.extend(self.engine.flush().await?);
        if let Some(words) = arrived.last().map(|r| r.words.as_slice()) {
            let number = |index: usize| words.get(index).map(|w| f32::from_bits(*w));
            let loss = number(0).unwrap_or(f32::NAN);
            if !loss.is_finite() {
                let update = self.updates_done.saturating_sub(1);
                return Err(TrainError::Diverged { update, loss });
            }
            let share = |index| number(index).map(|hits| f64::from(hits) / n_test as f64);
            let is_text = self.step.text.is_some();
            self.metrics = Metrics {
                test_accuracy: first.and_then(|_| share(1)),
                test_top5: top.and_then(|_| share(2)),
                test_loss: Some(f64::from(loss)),
                test_perplexity: is_text.then(|| f64::from(loss).exp()),
            };
        }
        self.evaluations.push(Evaluation {
            updates: self.updates_done,
            metrics: self.metrics,
        });
        Ok(self.metrics)
    }

    /// Keeps a sampled text for the report.
    pub fn keep_sample(&mut self, text: String) {
        self.sample = Some(text);
    }

    /// Everything there is to say so far.
    pub fn report(&self) -> Report {
        let mut report = self.planned.clone();
        report.experiment = self.experiment.clone();
        report.engine = Some(self.engine.info());
        report.steps = self.history.results().len();
        report.loss = self.history.loss_report();
        report.metrics = self.metrics;
        report.evaluations.clone_from(&self.evaluations);
        report.sample.clone_from(&self.sample);
        report.time = self.history.time_report();
        report::measure(&mut report.memory, self.engine.as_ref());
        report.memory.host = report::host(Some(&self.split), self.prefetch_bytes());
        report
    }

    /// Adapts what could only be checked against the data, and says so.
    fn fit_to_data(&mut self) {
        let (samples, total) = (self.split.train.len(), self.total_updates());
        let (batch, warmup) = (
            self.experiment.data.batch,
            self.experiment.train.schedule.warmup,
        );
        let mut say = |text: String| {
            let earlier = self
                .notice
                .take()
                .map_or_else(String::new, |notice| notice + " ");
            self.notice = Some(earlier + &text);
        };
        if batch > samples {
            say(format!(
                "data.batch = {batch} is larger than the {samples} training samples: the rest of each batch is padding that costs memory and teaches nothing."
            ));
        }
        if warmup >= total && warmup > 0 {
            self.experiment.train.schedule.warmup = total / 10;
            say(format!(
                "train.schedule.warmup = {warmup} would last for the whole run of {total} updates; it is cut to {}.",
                total / 10
            ));
        }
    }

    fn load(&mut self) -> Result<(), TrainError> {
        let budget = self.experiment.memory.budget.map(|b| b.0);
        self.engine.load(self.step.plan.clone(), budget)?;
        for (index, value) in self.step.plan.graph.values.iter().enumerate() {
            if let Some(words) = init::initial_words(self.experiment.seed, value) {
                self.engine.upload(ValueId(index), &words)?;
            }
        }
        Ok(())
    }

    async fn run(&mut self, program: Program, numbers: &Step) -> Result<(), TrainError> {
        let result = self.engine.run(program, numbers).await;
        result.map_err(|error| self.advised(error.into()))
    }

    /// Adds to an out-of-memory what would have fitted.
    fn advised(&self, error: TrainError) -> TrainError {
        match error {
            TrainError::Engine(EngineError::OutOfMemory(oom)) => {
                // Without a budget the device itself drew the line, somewhere below what was asked for.
                let limit = oom.budget_bytes.unwrap_or_else(|| oom.by_class.reserved());
                let would_fit = crate::fit::suggestions(&self.experiment, &self.source, limit);
                EngineError::OutOfMemory(Box::new(OutOfMemory { would_fit, ..*oom })).into()
            }
            other => other,
        }
    }

    /// The rate depends on the number of the update alone: micro-batches do not advance the schedule.
    fn learning_rate(&self, update: usize) -> f32 {
        let train = &self.experiment.train;
        train
            .schedule
            .lr_at(train.optimizer.lr, update, self.total_updates())
    }

    fn step_numbers(&self, update: usize, n_samples: usize, lr: f32) -> Step {
        let optimizer = &self.experiment.train.optimizer;
        // Bias correction of Adam, from the constants as the kernel sees them, in F64 because 1 - 0.999 is not exact.
        let bias = |beta: f32| (1.0 - f64::from(beta).powf(update as f64 + 1.0)) as f32;
        let adam = matches!(optimizer.kind, OptimizerKind::Adam | OptimizerKind::Adamw);
        Step {
            seed: self.experiment.seed,
            update: update as u32,
            micro: 0,
            rows: 0,
            inv_samples: 1.0 / n_samples.max(1) as f32,
            lr,
            bias1: if adam { bias(optimizer.beta1) } else { 1.0 },
            bias2: if adam { bias(optimizer.beta2) } else { 1.0 },
            max_norm: self.experiment.train.clip.unwrap_or(0.0),
        }
    }

    fn take_results(&mut self, arrived: &[Readback]) -> Result<Vec<UpdateResult>, TrainError> {
        let mut results = Vec::with_capacity(arrived.len());
        for readback in arrived {
            let number = |index: usize| {
                readback
                    .words
                    .get(index)
                    .map_or(f32::NAN, |w| f32::from_bits(*w))
            };
            let (loss, gradient_norm) = (number(0), number(1));
            let Some(result) = self
                .history
                .finished(readback.tag as usize, loss, gradient_norm)
            else {
                continue;
            };
            if !loss.is_finite() || !gradient_norm.is_finite() {
                return Err(TrainError::Diverged {
                    update: result.update,
                    loss,
                });
            }
            results.push(result);
        }
        Ok(results)
    }

    fn prefetch_bytes(&self) -> u64 {
        self.batch.bytes()
    }
}

/// All that should be known before a training, as one text.
fn notices(engine: Option<&str>, data: &[String]) -> Option<String> {
    let all: Vec<&str> = engine
        .into_iter()
        .chain(data.iter().map(String::as_str))
        .collect();
    (!all.is_empty()).then(|| all.join(" "))
}
