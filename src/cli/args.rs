//! The arguments of every command, with the help that teaches them.

use crate::engine::EngineChoice;
use crate::train::Sampling;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Trains small real networks on any graphics adapter and shows where every byte of training memory goes.
///
/// Without a command the app opens on the first lesson.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

const EXIT_CODES: &str = "\
Examples:
  headroom                                           (the app)
  headroom plan lessons/01-where-memory-goes/base.toml
  headroom run lessons/01-where-memory-goes/base.toml --json out.json
  headroom lesson check

Exit codes:
  0  done
  1  the run failed, or a claim does not hold
  2  bad input: experiment, arguments, data, or a report that cannot be written
  3  out of memory: the budget, or the device itself
  4  no usable graphics adapter, when --engine gpu was asked for
  5  the training diverged: the loss is no number any more";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Train an experiment and report where the bytes went.
    Run(RunArgs),
    /// Say what an experiment would need, without a graphics adapter and without running it.
    Plan(PlanArgs),
    /// List the lessons, or check what they claim.
    Lesson {
        #[command(subcommand)]
        command: LessonCommand,
    },
    /// List graphics adapters, their limits, and the kernels that would be chosen for each.
    Gpu(GpuArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EngineArg {
    /// The graphics adapter if there is one, else the processor.
    Auto,
    /// The graphics adapter, or exit code 4.
    Gpu,
    /// The processor, with plain loops that compute the same numbers.
    Cpu,
}

impl From<EngineArg> for EngineChoice {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Auto => Self::Auto,
            EngineArg::Gpu => Self::Gpu,
            EngineArg::Cpu => Self::Cpu,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  headroom run lessons/01-where-memory-goes/base.toml --json out.json
  headroom run lessons/01-where-memory-goes/base.toml --set train.steps=20 --png timeline.png
  headroom run my.toml --set data.path=/usr/share/datasets/fashion-mnist --set train.epochs=5
  headroom run my.toml --set memory.budget=8MiB      (a real out-of-memory: exit code 3 and what would fit)

The experiment is a TOML file; see the ones in lessons/. --set changes any field of it.")]
pub(super) struct RunArgs {
    /// The experiment, a TOML file.
    pub(super) file: PathBuf,
    /// Change a field of the experiment, such as train.steps=20; may be given several times.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(super) sets: Vec<String>,
    /// What computes.
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) engine: EngineArg,
    /// Write the report as JSON; `-` writes it to standard output, and nothing else there.
    #[arg(long, value_name = "OUT")]
    pub(super) json: Option<PathBuf>,
    /// Write the loss of every update as CSV.
    #[arg(long, value_name = "OUT")]
    pub(super) csv: Option<PathBuf>,
    /// Draw the memory timeline of a step as a PNG.
    #[arg(long, value_name = "OUT")]
    pub(super) png: Option<PathBuf>,
    /// After training, sample so many tokens of text from a transformer.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sample: Option<u32>,
    /// What the sampled text goes on from; without it, the start of a line.
    #[arg(long, value_name = "TEXT", requires = "sample")]
    pub(super) prompt: Option<String>,
    /// How freely it is sampled: 0 takes the likeliest token each time, 1 follows the model's own chances.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.8,
        value_parser = temperature,
        requires = "sample"
    )]
    pub(super) temperature: f32,
    /// No progress bar and no table.
    #[arg(long)]
    pub(super) quiet: bool,
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("write a number, 0 or above".into()),
    }
}

impl RunArgs {
    /// How a text is sampled at the end; none if it is not asked for.
    pub(super) fn sampling(&self) -> Option<Sampling> {
        Some(Sampling {
            prompt: self.prompt.clone().unwrap_or_default(),
            tokens: self.sample? as usize,
            temperature: self.temperature,
        })
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  headroom plan lessons/01-where-memory-goes/base.toml
  headroom plan my.toml --set data.batch=1024 --timeline
  headroom plan my.toml --json - | jq .memory.peak_bytes.predicted")]
pub(super) struct PlanArgs {
    /// The experiment, a TOML file.
    pub(super) file: PathBuf,
    /// Change a field of the experiment, such as data.batch=512; may be given several times.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(super) sets: Vec<String>,
    /// Write the plan as JSON; `-` writes it to standard output, and nothing else there.
    #[arg(long, value_name = "OUT")]
    pub(super) json: Option<PathBuf>,
    /// Draw the memory timeline of a step as a PNG.
    #[arg(long, value_name = "OUT")]
    pub(super) png: Option<PathBuf>,
    /// Also list the bytes at every node.
    #[arg(long)]
    pub(super) timeline: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  headroom gpu
  headroom gpu --json - | jq '.[] | select(.preferred) | .adapter'

The adapter marked as used for training is the one `headroom run` takes. Without any, training runs on the processor.")]
pub(super) struct GpuArgs {
    /// Write the list as JSON; `-` writes it to standard output.
    #[arg(long, value_name = "OUT")]
    pub(super) json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum LessonCommand {
    /// List the lessons and their variants.
    List(ListArgs),
    /// Run the experiments of a lesson, or of all, and check every number it claims.
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  headroom lesson list
  headroom lesson list --json - | jq -r '.[].variants[].slug'")]
pub(super) struct ListArgs {
    /// Write the list as JSON; `-` writes it to standard output.
    #[arg(long, value_name = "OUT")]
    pub(super) json: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  headroom lesson check
  headroom lesson check 01-where-memory-goes --engine cpu --json claims.json

Each experiment of the lesson is trained once, to its end. Exit code 1 says that a claim does not hold.")]
pub(super) struct CheckArgs {
    /// The lesson, such as 01-where-memory-goes; all of them without it.
    pub(super) slug: Option<String>,
    /// What computes.
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) engine: EngineArg,
    /// Write the results as JSON; `-` writes them to standard output, and nothing else there.
    #[arg(long, value_name = "OUT")]
    pub(super) json: Option<PathBuf>,
}
