//! `headroom plan`.

use super::args::PlanArgs;
use super::run::{check_outputs, is_stdout, write_json};
use super::{CliError, print};
use crate::data::source_info;
use crate::experiment::Experiment;
use crate::report::{files, plan_report, table};
use crate::step;

pub(super) fn plan(args: &PlanArgs) -> Result<(), CliError> {
    let experiment = Experiment::load(&args.file, &args.sets)?;
    let source = source_info(&experiment.data.source)?;
    let step = step::plan(&experiment, &source)?;
    let report = plan_report(&experiment, &source, &step);
    check_outputs(
        args.json.as_deref(),
        &[("PNG picture", args.png.as_deref())],
    )?;
    write_json(args.json.as_deref(), &files::to_json(&report)?, |path| {
        files::write_json(&report, path)
    })?;
    if let Some(path) = &args.png {
        files::write_png(&report, path)?;
    }
    if args.json.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    print(&table::table(&report, &report))?;
    if args.timeline {
        print(&format!("\n{}", table::timeline(&report)))?;
    }
    Ok(())
}
