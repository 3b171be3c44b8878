//! A picture of the memory timeline: one column per node, stacked by class.

use super::{Report, palette};
use crate::graph::{CLASSES, Class};
use crate::plan::Moment;
use crate::units::Bytes;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::path::Path;

type DrawError = Box<dyn std::error::Error>;

/// The page, in pixels.
const SIZE: (u32, u32) = (1200, 640);
/// Room for the legend at the right.
const LEGEND_WIDTH: u32 = 190;
const INK: RGBColor = RGBColor(40, 40, 40);

/// Draws the timeline of `report` as a PNG at `path`.
///
/// # Errors
/// The folder takes no file, or the report holds no timeline.
pub(super) fn draw(report: &Report, path: &Path) -> Result<(), DrawError> {
    let moments = &report.memory.timeline;
    if moments.is_empty() {
        return Err("the report holds no timeline".into());
    }
    // The font of the app: the picture looks the same on a machine without any.
    if register_font(
        "sans-serif",
        FontStyle::Normal,
        epaint_default_fonts::UBUNTU_LIGHT,
    )
    .is_err()
    {
        return Err("the font could not be read".into());
    }
    let root = BitMapBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (chart_area, legend_area) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    draw_chart(report, moments, &chart_area)?;
    draw_legend(moments, &legend_area)?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

fn draw_chart(report: &Report, moments: &[Moment], area: &Area<'_>) -> Result<(), DrawError> {
    let top_bytes = moments
        .iter()
        .map(|m| m.by_class.reserved())
        .max()
        .unwrap_or(1);
    let (unit, unit_name) = Bytes(top_bytes).axis_unit();
    let top = top_bytes as f64 / unit;
    let peak = &report.memory.at_peak;
    let caption = format!(
        "{}: peak {} at \"{}\" ({})",
        report.experiment.name,
        Bytes(peak.by_class.allocated()),
        peak.node,
        peak.phase.name()
    );
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 22).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(90)
        .build_cartesian_2d(0f64..moments.len() as f64, 0f64..top * 1.12)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(0)
        .x_desc("nodes of one step, in the order they run")
        .y_label_formatter(&|value| format!("{value} {unit_name}"))
        .label_style(("sans-serif", 15).into_font().color(&INK))
        .draw()?;
    for (index, moment) in moments.iter().enumerate() {
        let mut below = 0.0;
        for (class, bytes) in moment.by_class.iter().filter(|(_, b)| *b > 0) {
            let above = below + bytes as f64 / unit;
            let x = index as f64;
            chart.draw_series([Rectangle::new(
                [(x, below), (x + 1.0, above)],
                color(class).filled(),
            )])?;
            below = above;
        }
    }
    let label = ("sans-serif", 16).into_font().color(&INK);
    let part = |m: &Moment| (m.program, m.phase);
    for (index, moment) in moments.iter().enumerate() {
        if index == 0 || part(&moments[index - 1]) != part(moment) {
            let x = index as f64;
            chart.draw_series([PathElement::new(
                vec![(x, 0.0), (x, top * 1.1)],
                INK.stroke_width(1),
            )])?;
            let name = match moment.program {
                crate::graph::Program::Evaluate => "evaluate",
                _ => moment.phase.name(),
            };
            chart.draw_series([Text::new(name, (x + 0.15, top * 1.1), label.clone())])?;
        }
        if moment.node == peak.node && moment.program == peak.program {
            let at = (index as f64 + 0.5, peak.by_class.allocated() as f64 / unit);
            chart.draw_series([TriangleMarker::new(at, 9, BLACK.filled())])?;
        }
    }
    Ok(())
}

fn draw_legend(moments: &[Moment], area: &Area<'_>) -> Result<(), DrawError> {
    let mut y = 60;
    for class in CLASSES.into_iter().rev() {
        if moments.iter().all(|m| m.by_class.get(class) == 0) {
            continue;
        }
        area.draw(&Rectangle::new(
            [(6, y), (24, y + 18)],
            color(class).filled(),
        ))?;
        area.draw(&Text::new(
            class.name().replace('_', " "),
            (32, y + 1),
            ("sans-serif", 16).into_font().color(&INK),
        ))?;
        y += 28;
    }
    area.draw(&TriangleMarker::new((15, y + 12), 8, BLACK.filled()))?;
    area.draw(&Text::new(
        "peak in use",
        (32, y + 1),
        ("sans-serif", 16).into_font().color(&INK),
    ))?;
    Ok(())
}

fn color(class: Class) -> RGBColor {
    let [red, green, blue] = palette::color(class);
    RGBColor(red, green, blue)
}
