//! The memory timeline: one column per node of the step, the bytes alive while it runs stacked by class.
//!
//! Memory changes only where a node starts or ends, so the picture has steps and no slopes.

use super::chart::{Chart, phase_name};
use super::theme::{self, class_list, exact};
use crate::graph::{ByClass, Phase, Program};
use crate::plan::Moment;
use crate::report::Report;
use crate::units::Bytes;
use egui::{EventFilter, Key, Response, RichText, Sense, Stroke, StrokeKind, Tooltip, Ui, vec2};

/// Draws the timeline of `report`, `height` points high. `chosen` is the column the arrow keys stand on.
pub(super) fn show(
    ui: &mut Ui,
    report: &Report,
    budget: Option<Bytes>,
    height: f32,
    chosen: &mut Option<usize>,
) {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
    theme::describe(&response, || describe(report, budget, *chosen));
    let moments = &report.memory.timeline;
    if moments.is_empty() || !ui.is_rect_visible(rect) {
        return;
    }
    let chart = Chart::new(ui, report, budget, rect);
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    chart.paint_axis(&painter);
    chart.paint_phases(&painter, rect);
    painter.add(chart.stack());
    chart.paint_budget(&painter);
    chart.paint_peak(&painter);

    move_choice(ui, &response, chosen, moments.len());
    let hovered = response.hover_pos().and_then(|pos| chart.column_at(pos));
    let shown = hovered.or_else(|| chosen.filter(|_| response.has_focus()));
    let Some((index, moment)) = shown.and_then(|index| Some((index, moments.get(index)?))) else {
        return;
    };
    let column = chart.column(index);
    painter.rect_stroke(
        column.expand(1.0),
        1.0,
        Stroke::new(1.5, chart.text),
        StrokeKind::Outside,
    );
    let tooltip = Tooltip::for_widget(&response);
    let tooltip = if hovered.is_some() {
        tooltip.at_pointer()
    } else {
        tooltip
    };
    tooltip.show(|ui| tell(ui, moment));
}

/// Arrow keys walk through the nodes while the picture has the focus.
fn move_choice(ui: &Ui, response: &Response, chosen: &mut Option<usize>, len: usize) {
    if response.clicked() {
        response.request_focus();
    }
    if !response.has_focus() {
        return;
    }
    let filter = EventFilter {
        horizontal_arrows: true,
        ..Default::default()
    };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let (back, forth) = ui.input(|input| {
        (
            input.key_pressed(Key::ArrowLeft),
            input.key_pressed(Key::ArrowRight),
        )
    });
    let last = len.saturating_sub(1);
    match *chosen {
        None => *chosen = Some(0),
        Some(index) if forth => *chosen = Some((index + 1).min(last)),
        Some(index) if back => *chosen = Some(index.saturating_sub(1)),
        Some(index) => *chosen = Some(index.min(last)),
    }
}

fn phase_explanation(moment: &Moment) -> &'static str {
    match (moment.program, moment.phase) {
        (Program::Evaluate, _) => "on the test set, without gradients",
        (_, Phase::Forward) => "from the batch to the loss",
        (_, Phase::Backward) => "from the loss to the gradients",
        (_, Phase::Update) => "from the gradients to the weights",
    }
}

/// The bytes of one node, for the tooltip.
fn tell(ui: &mut Ui, moment: &Moment) {
    ui.strong(&moment.node);
    ui.label(format!(
        "{}: {}",
        phase_name(moment),
        phase_explanation(moment)
    ));
    egui::Grid::new("bytes of a node")
        .num_columns(3)
        .min_col_width(0.0)
        .spacing([8.0, 2.0])
        .show(ui, |ui| {
            // The order of the stack, from above.
            let present: Vec<_> = moment
                .by_class
                .iter()
                .filter(|(_, bytes)| *bytes > 0)
                .collect();
            for (class, bytes) in present.into_iter().rev() {
                theme::swatch(ui, class);
                ui.label(class.name());
                ui.label(exact(bytes));
                ui.end_row();
            }
            ui.label("");
            ui.strong("in use");
            ui.strong(exact(moment.by_class.allocated()));
            ui.end_row();
            ui.label("");
            ui.label("reserved");
            ui.label(exact(moment.by_class.reserved()));
            ui.end_row();
        });
}

/// The whole picture in words.
fn describe(report: &Report, budget: Option<Bytes>, chosen: Option<usize>) -> String {
    let memory = &report.memory;
    let peak = &memory.at_peak;
    let mut text = format!(
        "Memory timeline of one step, {} nodes. Peak {} at {} in {}: {}.",
        memory.timeline.len(),
        exact(peak.by_class.allocated()),
        peak.node,
        peak.phase.name(),
        class_list(&peak.by_class),
    );
    if let Some(budget) = budget {
        text.push_str(&format!(" Budget {}.", exact(budget.0)));
    }
    if let Some(moment) = chosen.and_then(|index| memory.timeline.get(index)) {
        text.push_str(&format!(
            " Chosen node {} in {}: {}.",
            moment.node,
            phase_name(moment),
            class_list(&moment.by_class)
        ));
    }
    text
}

/// The classes that occur anywhere in the timeline, each with its colour and its explanation.
pub(super) fn legend(ui: &mut Ui, report: &Report) {
    let anywhere: ByClass = report
        .memory
        .timeline
        .iter()
        .fold(ByClass::default(), |most, m| most.max(&m.by_class));
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        for (class, _) in anywhere.iter().filter(|(_, bytes)| *bytes > 0) {
            theme::swatch(ui, class);
            ui.label(RichText::new(class.name()).small())
                .on_hover_text(class.explanation());
            ui.add_space(6.0);
        }
    });
}
