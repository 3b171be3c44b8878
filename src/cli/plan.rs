//! `headroom plan`.

use super::args::PlanArgs;
use super::run::{check_outputs, is_stdout, write_json};
use super::{CliError, print};
use crate::data::source_info;
use crate::experiment::Experiment;
use crate::fit;
use crate::report::{Report, files, plan_report, table};
use crate::step;
use crate::units::Bytes;

pub(super) fn plan(args: &PlanArgs) -> Result<(), CliError> {
    let experiment = Experiment::load(&args.file, &args.sets)?;
    let source = source_info(&experiment.data)?;
    let step = step::plan(&experiment, &source)?;
    let report = plan_report(&experiment, &step);
    check_outputs(
        Some(&args.file),
        args.json.as_deref(),
        &[("PNG picture", args.png.as_deref())],
    )?;
    let json = files::to_json(&report)?;
    write_json(args.json.as_deref(), "JSON report", &json)?;
    if let Some(path) = &args.png {
        files::write_png(&report, path)?;
    }
    if args.json.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    print(&table::table(&report, &report))?;
    print(&format!("\n{}", table::layers(&report)))?;
    if let Some(budget) = experiment.memory.budget {
        let would_fit = || fit::suggestions(&experiment, &source, budget.0);
        print(&format!("\n{}", verdict(&report, budget, would_fit)))?;
    }
    if args.timeline {
        print(&format!("\n{}", table::timeline(&report)))?;
    }
    Ok(())
}

/// Whether the plan fits the budget, and if not what would; only then is that searched for.
fn verdict(report: &Report, budget: Bytes, would_fit: impl FnOnce() -> Vec<String>) -> String {
    let needed = report.memory.reserved_bytes.predicted;
    if needed <= budget.0 {
        let left = budget.0 - needed;
        return format!("It fits the budget of {budget}: {left} bytes are left.\n");
    }
    let missing = needed - budget.0;
    let mut text =
        format!("It does not fit the budget of {budget}: {missing} bytes are missing.\n");
    for line in would_fit() {
        text.push_str(&format!("  would fit: {line}\n"));
    }
    text
}
