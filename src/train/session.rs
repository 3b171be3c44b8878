//! A training that a face watches and steers: commands go in, a state comes out, and nothing blocks the face.

use super::breathe::breathe;
use super::{Generation, Sampling, TrainError, Trainer};
use crate::data::{self, Split, source_info};
use crate::engine::{EngineChoice, EngineError};
use crate::experiment::Experiment;
use crate::report::{self, Report};
use crate::step;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use web_time::Instant;

/// What a face tells a session.
#[derive(Clone, Debug)]
pub enum Command {
    /// Train on, from the start or from where it was paused.
    Start,
    /// Stop after the update that runs now; everything stays in memory.
    Pause,
    /// Free everything and be ready to start anew.
    Reset,
    /// Reset, with another experiment. Where only the budget differs, the training goes on under the new one.
    Replace(Box<Experiment>),
    /// Sample a text from the model as it is trained now; training waits for it.
    Sample(Sampling),
    /// Free everything and end the session.
    Close,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing is on the device; the report is that of the plan.
    Idle,
    /// The data is being read or the engine opened.
    Loading,
    /// Updates are being made.
    Running,
    /// Between two updates, on request.
    Paused,
    /// All updates are made and the test set is evaluated.
    Done,
    /// It ended with an error; the message says which.
    Failed,
}

impl Status {
    /// The word shown and exported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Loading => "loading",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Failed => "error",
        }
    }
}

/// What a face sees of a session.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// What it is doing.
    pub status: Status,
    /// The experiment as it is trained.
    pub experiment: Experiment,
    /// Updates the whole run will make; 0 until the data is known.
    pub total_updates: usize,
    /// The newest report; that of the plan until a run has begun.
    pub report: Option<Arc<Report>>,
    /// An error, in full.
    pub message: Option<String>,
    /// Something the reader should know, such as the lack of an adapter.
    pub notice: Option<String>,
    /// The text that was sampled last, or as much of it as there is.
    pub sample: Option<String>,
    /// Whether a text is being sampled.
    pub is_sampling: bool,
}

impl SessionState {
    fn new(experiment: Experiment) -> Self {
        let mut state = Self {
            status: Status::Idle,
            experiment,
            total_updates: 0,
            report: None,
            message: None,
            notice: None,
            sample: None,
            is_sampling: false,
        };
        state.show_plan();
        state
    }

    /// Puts the report of the plan in place, or the reason why there is none.
    fn show_plan(&mut self) {
        self.message = None;
        let planned = source_info(&self.experiment.data)
            .map_err(TrainError::from)
            .and_then(|source| {
                let step = step::plan(&self.experiment, &source)?;
                Ok(report::plan_report(&self.experiment, &step))
            });
        match planned {
            Ok(report) => self.report = Some(Arc::new(report)),
            Err(error) => {
                self.report = None;
                self.message = Some(error.to_string());
            }
        }
    }
}

/// A training that runs beside the face that watches it. Dropping it ends the training and frees its memory.
pub struct Session {
    commands: async_channel::Sender<Command>,
    state: Shared,
}

impl Session {
    /// Starts a session that is idle until [`Command::Start`]. `on_change` is called after every change of the state.
    pub fn spawn(
        experiment: Experiment,
        choice: EngineChoice,
        on_change: impl Fn() + Send + 'static,
    ) -> Self {
        let (commands, inbox) = async_channel::unbounded();
        let state = Shared(Arc::new(Mutex::new(SessionState::new(experiment))));
        let shared = state.clone();
        // Made on the thread it runs on: an engine cannot be sent to another.
        let make = move || Driver {
            inbox,
            state: shared,
            on_change: Box::new(on_change),
            choice,
            split: None,
            trainer: None,
            generation: None,
            published: Instant::now(),
        };
        spawn(&state, make);
        Self { commands, state }
    }

    /// Sends a command; the session takes it between two updates.
    pub fn send(&self, command: Command) {
        // The inbox is closed only after an answer to Close, when there is nothing left to steer.
        let _ = self.commands.try_send(command);
    }

    /// The state as it is now.
    pub fn state(&self) -> SessionState {
        self.state.lock().clone()
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<SessionState>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn spawn(state: &Shared, make: impl FnOnce() -> Driver + Send + 'static) {
    let thread = std::thread::Builder::new().name("training".into());
    let started = thread.spawn(move || pollster::block_on(make().run()));
    if let Err(error) = started {
        let mut state = state.lock();
        state.status = Status::Failed;
        state.message = Some(format!(
            "no thread could be started for the training: {error}"
        ));
    }
}

#[cfg(target_arch = "wasm32")]
fn spawn(_state: &Shared, make: impl FnOnce() -> Driver + Send + 'static) {
    wasm_bindgen_futures::spawn_local(make().run());
}

/// At most this often a running training publishes a new report; a face draws no faster.
const PUBLISH_MILLIS: u128 = 60;

/// The side of a session that trains.
struct Driver {
    inbox: async_channel::Receiver<Command>,
    state: Shared,
    on_change: Box<dyn Fn()>,
    choice: EngineChoice,
    /// The samples, with what they were loaded for.
    split: Option<(Experiment, Arc<Split>)>,
    trainer: Option<Trainer>,
    /// A text that is being sampled.
    generation: Option<Generation>,
    published: Instant,
}

impl Driver {
    async fn run(mut self) {
        loop {
            let running = self.state.lock().status == Status::Running;
            let command = if running || self.generation.is_some() {
                self.inbox.try_recv().ok()
            } else {
                self.inbox.recv().await.ok()
            };
            let closed = self.inbox.is_closed() && self.inbox.is_empty() && command.is_none();
            match command {
                Some(Command::Close) => break,
                Some(command) => self.obey(command).await,
                None if closed => break,
                None if self.generation.is_some() => self.sample().await,
                None => self.advance().await,
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        let status = self.state.lock().status;
        match command {
            Command::Start if status != Status::Running => {
                if matches!(status, Status::Done | Status::Failed) {
                    self.trainer = None;
                    self.generation = None;
                    self.set(|state| state.is_sampling = false);
                }
                self.start().await;
            }
            Command::Pause if status == Status::Running => {
                let flushed = match self.trainer.as_mut() {
                    Some(trainer) => trainer.flush().await.map(|_| ()),
                    None => Ok(()),
                };
                self.settle(flushed.map(|()| Status::Paused));
            }
            Command::Sample(sampling) => self.begin_sample(&sampling).await,
            Command::Reset => self.reset(None),
            Command::Replace(experiment) => self.replace(*experiment),
            Command::Start | Command::Pause | Command::Close => {}
        }
    }

    /// Another budget is no other training: it holds from the next update on. Anything else starts anew.
    fn replace(&mut self, experiment: Experiment) {
        let budget = experiment.memory.budget;
        let mut same = self.state.lock().experiment.clone();
        same.memory.budget = budget;
        match self.trainer.as_mut() {
            Some(trainer) if same == experiment => {
                trainer.set_budget(budget);
                self.set(|state| state.experiment = experiment);
                self.publish();
            }
            _ => self.reset(Some(experiment)),
        }
    }

    fn reset(&mut self, experiment: Option<Experiment>) {
        self.trainer = None;
        self.generation = None;
        let experiment = experiment.unwrap_or_else(|| self.state.lock().experiment.clone());
        let notice = self.state.lock().notice.take();
        *self.state.lock() = SessionState {
            notice,
            ..SessionState::new(experiment)
        };
        (self.on_change)();
    }

    async fn start(&mut self) {
        if self.trainer.is_none() {
            self.set(|state| {
                state.status = Status::Loading;
                state.message = None;
            });
            // Give the face a frame to say so before the data is unpacked.
            breathe().await;
            if let Err(error) = self.open().await {
                self.settle(Err(error));
                return;
            }
        }
        self.settle(Ok(Status::Running));
    }

    async fn open(&mut self) -> Result<(), TrainError> {
        let experiment = self.state.lock().experiment.clone();
        let split = match self
            .split
            .take()
            .filter(|(earlier, _)| same_samples(earlier, &experiment))
        {
            Some((_, split)) => split,
            None => Arc::new(data::load(&experiment.data, experiment.model.context()).await?),
        };
        self.split = Some((experiment.clone(), split.clone()));
        let trainer = Trainer::new(experiment, split, self.choice).await?;
        let notice = trainer.notice().map(str::to_owned);
        self.set(|state| {
            state.total_updates = trainer.total_updates();
            state.notice = notice;
        });
        self.trainer = Some(trainer);
        Ok(())
    }

    async fn begin_sample(&mut self, sampling: &Sampling) {
        let Some(trainer) = self.trainer.as_mut() else {
            return;
        };
        match trainer.begin_text(sampling).await {
            Ok(generation) => {
                let sample = Some(trainer.text_of(&generation));
                self.generation = Some(generation);
                self.set(|state| (state.sample, state.is_sampling) = (sample, true));
            }
            Err(error) => self.settle(Err(error)),
        }
    }

    /// One token of a text.
    async fn sample(&mut self) {
        let (Some(trainer), Some(mut generation)) = (self.trainer.as_mut(), self.generation.take())
        else {
            self.set(|state| state.is_sampling = false);
            return;
        };
        match trainer.next_token(&mut generation).await {
            Ok(goes_on) => {
                let text = trainer.text_of(&generation);
                if goes_on {
                    self.generation = Some(generation);
                } else {
                    trainer.keep_sample(text.clone());
                }
                self.set(|state| (state.sample, state.is_sampling) = (Some(text), goes_on));
                if !goes_on {
                    self.publish();
                }
                breathe().await;
            }
            Err(error) => {
                self.set(|state| state.is_sampling = false);
                self.settle(Err(error));
            }
        }
    }

    /// One update, and at the end the evaluation.
    async fn advance(&mut self) {
        let Some(trainer) = self.trainer.as_mut() else {
            self.settle(Ok(Status::Idle));
            return;
        };
        let result = if trainer.updates_done() < trainer.total_updates() {
            match trainer.step().await {
                Ok(_) if trainer.is_evaluation_due() => trainer.evaluate().await.map(|_| None),
                other => other.map(|_| None),
            }
        } else {
            trainer.evaluate().await.map(|_| Some(Status::Done))
        };
        match result {
            Ok(Some(status)) => self.settle(Ok(status)),
            Ok(None) => {
                if self.published.elapsed().as_millis() >= PUBLISH_MILLIS {
                    self.publish();
                }
                breathe().await;
            }
            Err(error) => self.settle(Err(error)),
        }
    }

    /// Takes on a status, or the error that ended the training, with the report as it is then.
    fn settle(&mut self, outcome: Result<Status, TrainError>) {
        self.publish();
        match outcome {
            Ok(status) => self.set(|state| {
                state.status = status;
                state.message = None;
            }),
            Err(error) if self.trainer.is_some() && is_out_of_memory(&error) => {
                // Weights and optimizer state are as they were: with a larger budget the training goes on.
                self.set(|state| {
                    state.status = Status::Paused;
                    state.message = Some(error.to_string());
                });
            }
            Err(error) => {
                // The buffers are freed; what was learned about the run stays in the report.
                self.trainer = None;
                self.set(|state| {
                    state.status = Status::Failed;
                    state.message = Some(error.to_string());
                });
            }
        }
    }

    fn publish(&mut self) {
        self.published = Instant::now();
        if let Some(trainer) = &self.trainer {
            let report = Arc::new(trainer.report());
            self.set(|state| state.report = Some(report));
        }
    }

    fn set(&self, change: impl FnOnce(&mut SessionState)) {
        change(&mut self.state.lock());
        (self.on_change)();
    }
}

fn is_out_of_memory(error: &TrainError) -> bool {
    matches!(error, TrainError::Engine(EngineError::OutOfMemory(_)))
}

/// Whether two experiments read the same samples; batch size and order do not matter for that.
fn same_samples(a: &Experiment, b: &Experiment) -> bool {
    let samples = |e: &Experiment| {
        let mut data = e.data.clone();
        (data.batch, data.shuffle) = (1, true);
        (data, e.model.context())
    };
    samples(a) == samples(b)
}
