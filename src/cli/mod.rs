//! The command line: reads arguments, drives the library, prints what it says. It has no logic of its own.

mod args;
mod gpu;
mod lesson;
mod plan;
mod run;

use crate::data::DataError;
use crate::engine::EngineError;
use crate::experiment::ExperimentError;
use crate::graph::GraphError;
use crate::lesson::LessonError;
use crate::report::files::WriteError;
use crate::train::TrainError;
use args::{Args, Command, LessonCommand};
use clap::Parser as _;
use std::io::Write as _;
use std::process::ExitCode;

/// What ends a command early.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Lesson(#[from] LessonError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
    #[error("the report cannot be put into JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Claims that do not hold; the table has said which.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// The exit code of the contract: 1 failed run, 2 bad input, 3 out of memory, 4 no adapter, 5 diverged.
    fn code(&self) -> u8 {
        match self {
            Self::Lesson(LessonError::Run { .. }) => 1,
            Self::Experiment(_)
            | Self::Data(_)
            | Self::Graph(_)
            | Self::Lesson(_)
            | Self::Write(_) => 2,
            Self::Train(
                TrainError::Data(_)
                | TrainError::Graph(_)
                | TrainError::NoText { .. }
                | TrainError::OneSample { .. },
            ) => 2,
            Self::Train(TrainError::Engine(
                EngineError::Limit(_)
                | EngineError::OutOfMemory(_)
                | EngineError::DeviceOutOfMemory,
            )) => 3,
            Self::Train(TrainError::Engine(EngineError::NoAdapter { .. })) => 4,
            Self::Train(TrainError::Diverged { .. }) => 5,
            Self::Train(TrainError::Interrupted { .. }) => 1,
            Self::Train(TrainError::Engine(_))
            | Self::Output(_)
            | Self::Json(_)
            | Self::Failed(_) => 1,
        }
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error")).init();
    // Wrong arguments end here with code 2, as clap does it.
    let args = Args::parse();
    let result = match args.command {
        None => return crate::app::run_native(),
        Some(Command::Run(run)) => run::run(&run),
        Some(Command::Plan(plan)) => plan::plan(&plan),
        Some(Command::Gpu(gpu)) => gpu::gpu(&gpu),
        Some(Command::Lesson {
            command: LessonCommand::List(list),
        }) => lesson::list(&list),
        Some(Command::Lesson {
            command: LessonCommand::Check(check),
        }) => lesson::check(&check),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has seen enough, such as `head`, is no failure.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(error.code())
        }
    }
}

/// Prints to standard output; a closed pipe is an error and not a panic.
fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
