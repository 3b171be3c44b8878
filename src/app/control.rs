//! The handle on the training that the window's controls and a page's scripts share.
//!
//! A change of the experiment takes a moment to reach the session. Until it has arrived, [`Control::newest`] gives the
//! experiment that was asked for, so that a dragged control and two commands in a row build on each other.

use crate::engine::EngineChoice;
use crate::experiment::{Experiment, ExperimentError};
use crate::train::{Command, Sampling, Session, SessionState};
use serde_json::json;
use std::cell::RefCell;
use std::time::Duration;

/// Shortest time between two repaints that a training asks for. Input is drawn at once all the same.
const REPAINT_INTERVAL: Duration = Duration::from_millis(33);

/// A command of a page's script that could not be followed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The word is none of the commands.
    #[error(
        "\"{0}\" is no command; write start, pause, reset, sample TOKENS, or set FIELD=VALUE, for example: set train.steps=20"
    )]
    Unknown(String),
    /// The setting does not give a valid experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// A session, and what was last asked of it.
pub struct Control {
    session: Session,
    asked: RefCell<Option<Experiment>>,
}

impl Control {
    /// Opens a session that is idle. The window of `ctx` is repainted when the session has news.
    pub fn new(experiment: Experiment, choice: EngineChoice, ctx: &egui::Context) -> Self {
        let ctx = ctx.clone();
        let on_change = move || ctx.request_repaint_after(REPAINT_INTERVAL);
        Self {
            session: Session::spawn(experiment, choice, on_change),
            asked: RefCell::new(None),
        }
    }

    /// What the session is doing now.
    pub fn state(&self) -> SessionState {
        let state = self.session.state();
        let mut asked = self.asked.borrow_mut();
        if asked.as_ref() == Some(&state.experiment) {
            *asked = None;
        }
        state
    }

    /// The experiment that was asked for last, which the session may not have seen yet.
    pub fn newest(&self) -> Experiment {
        let current = self.state().experiment;
        self.asked.borrow().clone().unwrap_or(current)
    }

    /// Trains on, or from the start again where a run has ended.
    pub fn start(&self) {
        self.session.send(Command::Start);
    }

    /// Stops after the update that runs now.
    pub fn pause(&self) {
        self.session.send(Command::Pause);
    }

    /// Samples a text from the model as it is now.
    pub fn sample(&self, sampling: Sampling) {
        self.session.send(Command::Sample(sampling));
    }

    /// Frees everything on the device.
    pub fn reset(&self) {
        self.session.send(Command::Reset);
    }

    /// Resets, with another experiment.
    pub fn replace(&self, experiment: Experiment) {
        *self.asked.borrow_mut() = Some(experiment.clone());
        self.session.send(Command::Replace(Box::new(experiment)));
    }

    /// Follows a command in words: `start`, `pause`, `reset`, `sample TOKENS`, or `set FIELD=VALUE` as on the command line.
    ///
    /// # Errors
    /// [`CommandError`] names the word or the field, and what is allowed.
    pub fn command(&self, text: &str) -> Result<(), CommandError> {
        match text.trim() {
            "start" => self.start(),
            "pause" => self.pause(),
            "reset" => self.reset(),
            other => match other.strip_prefix("set ") {
                Some(setting) => self.set(setting.trim())?,
                None => match other.strip_prefix("sample").map(|n| n.trim().parse()) {
                    Some(Ok(tokens)) => self.sample(Sampling {
                        tokens,
                        ..Sampling::default()
                    }),
                    _ => return Err(CommandError::Unknown(other.to_owned())),
                },
            },
        }
        Ok(())
    }

    /// The state as JSON, for scripts. Null is what is not known, or not there before a run.
    pub fn state_json(&self) -> String {
        let state = self.state();
        let report = state.report.as_deref();
        let engine = report.and_then(|r| r.engine.as_ref());
        let memory = report.map(|r| &r.memory);
        let losses = report
            .and_then(|r| r.loss.as_ref())
            .map(|l| l.curve.as_slice());
        json!({
            "engine": engine.map(|e| &e.kind),
            "adapter": engine.map(|e| &e.adapter),
            "status": state.status.name(),
            "model": state.experiment.model.kind(),
            "source": state.experiment.data.source,
            "step": report.map_or(0, |r| r.steps),
            "losses": losses.unwrap_or_default(),
            "reserved_bytes": memory.and_then(|m| m.reserved_bytes.measured),
            "allocated_bytes": memory.and_then(|m| m.peak_bytes.measured),
            "live_buffers": memory.and_then(|m| m.live_buffers),
            "sample": state.sample,
            "is_sampling": state.is_sampling,
            "message": state.message,
            "notice": state.notice,
        })
        .to_string()
    }

    fn set(&self, setting: &str) -> Result<(), ExperimentError> {
        let text = self.newest().to_toml()?;
        let no_files = |_: &str| Err(String::from("a resolved experiment extends nothing"));
        let sets = [setting.to_owned()];
        self.replace(Experiment::from_toml_with(
            &text, "the app", &no_files, &sets,
        )?);
        Ok(())
    }
}
