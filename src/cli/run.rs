//! `headroom run`.

use super::args::RunArgs;
use super::{CliError, print};
use crate::data;
use crate::engine::{EngineChoice, EngineError};
use crate::experiment::Experiment;
use crate::report::{Report, files, plan_report, table};
use crate::step;
use crate::train::{Sampling, TrainError, Trainer, UpdateResult};
use crate::units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn run(args: &RunArgs) -> Result<(), CliError> {
    let experiment = Experiment::load(&args.file, &args.sets)?;
    check_outputs(
        Some(&args.file),
        args.json.as_deref(),
        &[
            ("CSV curve", args.csv.as_deref()),
            ("PNG picture", args.png.as_deref()),
        ],
    )?;
    if args.sample.is_some() && experiment.model.context().is_none() {
        let kind = experiment.model.kind();
        return Err(TrainError::NoText { kind }.into());
    }
    let source = data::source_info(&experiment.data)?;
    let planned = plan_report(&experiment, &step::plan(&experiment, &source)?);
    // A second interrupt ends the program at once, as it would without the handler.
    let handled = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    if let Err(error) = handled {
        log::warn!("an interrupt will end the program at once: {error}");
    }
    let (report, result) = train(&experiment, args.engine.into(), args.quiet, args.sampling());
    // What the run had learned is written also when it ended early, and the plan where not even the weights fitted.
    let report = match &result {
        Err(TrainError::Engine(EngineError::OutOfMemory(_))) => {
            Some(report.unwrap_or_else(|| planned.clone()))
        }
        _ => report,
    };
    if let Some(report) = &report {
        let written = write_files(args, report);
        if let (Err(_), Err(error)) = (&result, &written) {
            // The training's own error decides the exit code; this one must not hide it.
            let _ = writeln!(std::io::stderr(), "error: {error}");
        } else {
            written?;
        }
        let tabled = !args.quiet && !args.json.as_deref().is_some_and(is_stdout);
        if tabled && result.is_ok() {
            print(&table::table(report, &planned))?;
        } else if let Some(sample) = report.sample.as_ref().filter(|_| args.json.is_none()) {
            // Whoever asks for a text and for quiet wants the text.
            print(&format!("{sample}\n"))?;
        }
    }
    Ok(result?)
}

/// Refuses a path that takes no file before the work and not after it, and one that is named twice or is the
/// `experiment` itself. Only `json` may be `-`.
pub(super) fn check_outputs(
    experiment: Option<&Path>,
    json: Option<&Path>,
    others: &[(&'static str, Option<&Path>)],
) -> Result<(), CliError> {
    let json = ("JSON report", json.filter(|path| !is_stdout(path)));
    for (what, path) in others.iter().chain([&json]) {
        if let Some(path) = path {
            files::check_writable(what, path)?;
        }
    }
    let named = [("experiment", experiment), json];
    let named: Vec<(&'static str, &Path)> = named
        .iter()
        .chain(others)
        .filter_map(|(what, path)| Some((*what, (*path)?)))
        .collect();
    Ok(files::check_distinct(&named)?)
}

/// Trains an experiment from start to end, with a progress bar on standard error. Gives the report as far as the
/// training came.
pub(super) fn train(
    experiment: &Experiment,
    choice: EngineChoice,
    quiet: bool,
    sampling: Option<Sampling>,
) -> (Option<Report>, Result<(), TrainError>) {
    pollster::block_on(async {
        let split = match data::load(&experiment.data, experiment.model.context()).await {
            Ok(split) => Arc::new(split),
            Err(error) => return (None, Err(error.into())),
        };
        let mut trainer = match Trainer::new(experiment.clone(), split, choice).await {
            Ok(trainer) => trainer,
            Err(error) => return (None, Err(error)),
        };
        if let Some(notice) = trainer.notice() {
            let _ = writeln!(std::io::stderr(), "warning: {notice}");
        }
        let bar = progress_bar(trainer.total_updates(), quiet);
        let mut result = drive(&mut trainer, &bar).await;
        if let (Ok(()), Some(sampling)) = (&result, sampling) {
            bar.set_message("sampling text");
            result = match trainer.generate(&sampling).await {
                Ok(text) => {
                    trainer.keep_sample(text);
                    Ok(())
                }
                Err(error) => Err(error),
            };
        }
        bar.finish_and_clear();
        (Some(trainer.report()), result)
    })
}

/// Set when the user interrupts: the update that runs is finished, and the report written.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

async fn drive(trainer: &mut Trainer, bar: &ProgressBar) -> Result<(), TrainError> {
    while trainer.updates_done() < trainer.total_updates() {
        let results = trainer.step().await?;
        show(trainer, bar, &results);
        if INTERRUPTED.load(Ordering::Relaxed) {
            trainer.flush().await?;
            let updates = trainer.updates_done();
            return Err(TrainError::Interrupted { updates });
        }
        if trainer.is_evaluation_due() {
            trainer.evaluate().await?;
        }
    }
    let results = trainer.flush().await?;
    show(trainer, bar, &results);
    bar.set_message("evaluating on the test set");
    trainer.evaluate().await?;
    Ok(())
}

fn show(trainer: &mut Trainer, bar: &ProgressBar, results: &[UpdateResult]) {
    bar.set_position(trainer.updates_done() as u64);
    if let Some(last) = results.last() {
        let samples = trainer.samples_per_second();
        let ledger = trainer.engine_mut().ledger();
        let peak = ledger.peak().map_or(0, |p| p.by_class.allocated());
        let (allocated, peak) = (Bytes(ledger.now().allocated()), Bytes(peak));
        bar.set_message(format!(
            "loss {:.4}  {samples:.0} samples/s  in use {allocated}, peak {peak}",
            last.loss
        ));
    }
}

fn progress_bar(total: usize, quiet: bool) -> ProgressBar {
    let bar = ProgressBar::new(total as u64);
    if quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} [{elapsed}<{eta}]  {msg}")
    {
        bar.set_style(style);
    }
    bar
}

fn write_files(args: &RunArgs, report: &Report) -> Result<(), CliError> {
    let json = files::to_json(report)?;
    write_json(args.json.as_deref(), "JSON report", &json)?;
    if let Some(path) = &args.csv {
        files::write_csv(report, path)?;
    }
    if let Some(path) = &args.png {
        files::write_png(report, path)?;
    }
    Ok(())
}

/// Prints the JSON `text` for `-`, writes it to any other target; `what` names it in an error.
pub(super) fn write_json(
    target: Option<&Path>,
    what: &'static str,
    text: &str,
) -> Result<(), CliError> {
    match target {
        Some(path) if is_stdout(path) => print(text),
        Some(path) => Ok(files::write_text(what, path, text)?),
        None => Ok(()),
    }
}

pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
