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
    let source = source_info(&experiment.data.source)?;
    let step = step::plan(&experiment, &source)?;
    let report = plan_report(&experiment, &source, &step);
    check_outputs(
        Some(&args.file),
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
    if let Some(budget) = experiment.memory.budget {
        print(&format!(
            "\n{}",
            budget_line(
                &report,
                budget,
                &fit::suggestions(&experiment, &source, budget.0)
            )
        ))?;
    }
    if args.timeline {
        print(&format!("\n{}", table::timeline(&report)))?;
    }
    Ok(())
}

/// Whether the plan fits the budget, and if not what would.
fn budget_line(report: &Report, budget: Bytes, would_fit: &[String]) -> String {
    let needed = report.memory.reserved_bytes.predicted;
    let Some(missing) = needed.checked_sub(budget.0).filter(|bytes| *bytes > 0) else {
        return format!(
            "It fits the budget of {budget}: {} bytes are left.\n",
            budget.0 - needed
        );
    };
    let mut text =
        format!("It does not fit the budget of {budget}: {missing} bytes are missing.\n");
    for line in would_fit {
        text.push_str(&format!("  would fit: {line}\n"));
    }
    text
}
