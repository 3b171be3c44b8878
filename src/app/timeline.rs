//! The memory timeline: one column per node of the step, the bytes alive while it runs stacked by class.
//!
//! Memory changes only where a node starts or ends, so the picture has steps and no slopes.

use super::axis;
use super::theme::{self, class_color, class_list, exact};
use crate::graph::{ByClass, Class, Phase, Program};
use crate::plan::Moment;
use crate::report::Report;
use crate::units::Bytes;
use egui::{
    Align2, Color32, EventFilter, FontId, Key, Mesh, Painter, Pos2, Rect, Response, RichText,
    Sense, Shape, Stroke, StrokeKind, TextStyle, Tooltip, Ui, pos2, vec2,
};

const AXIS_POINTS: f32 = 70.0;
const PEAK_BAND_POINTS: f32 = 20.0;
const PHASE_BAND_POINTS: f32 = 20.0;
/// A budget further above the stack than this factor would flatten it; it is then told in words.
const BUDGET_IN_VIEW: f32 = 1.6;

/// What a picture of one report needs in every part.
struct Chart<'a> {
    report: &'a Report,
    budget: Option<Bytes>,
    /// Where the columns stand.
    plot: Rect,
    /// Bytes at the upper edge of `plot`.
    top_bytes: f32,
    text: Color32,
    weak: Color32,
    alert: Color32,
    /// What the chart stands on.
    ground: Color32,
    font: FontId,
}

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

/// The name of a part of the timeline.
fn phase_name(moment: &Moment) -> &'static str {
    match (moment.program, moment.phase) {
        (Program::Evaluate, _) => "test",
        (_, phase) => phase.name(),
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

impl<'a> Chart<'a> {
    fn new(ui: &Ui, report: &'a Report, budget: Option<Bytes>, rect: Rect) -> Self {
        let plot = Rect::from_min_max(
            pos2(rect.left() + AXIS_POINTS, rect.top() + PEAK_BAND_POINTS),
            pos2(rect.right() - 4.0, rect.bottom() - PHASE_BAND_POINTS),
        );
        let most = report
            .memory
            .timeline
            .iter()
            .map(|m| m.by_class.reserved())
            .max()
            .unwrap_or(1)
            .max(1) as f32;
        let in_view = budget
            .map(|b| b.0 as f32)
            .filter(|b| *b <= most * BUDGET_IN_VIEW);
        let visuals = ui.visuals();
        Self {
            report,
            budget,
            plot,
            top_bytes: in_view.unwrap_or(most).max(most) * 1.06,
            text: visuals.strong_text_color(),
            weak: visuals.weak_text_color(),
            alert: theme::alert_color(ui),
            ground: visuals.faint_bg_color,
            font: TextStyle::Small.resolve(ui.style()),
        }
    }

    fn moments(&self) -> &[Moment] {
        &self.report.memory.timeline
    }

    fn y(&self, bytes: f32) -> f32 {
        self.plot.bottom() - self.plot.height() * (bytes / self.top_bytes)
    }

    fn x(&self, index: usize) -> f32 {
        self.plot.left() + self.plot.width() * index as f32 / self.moments().len().max(1) as f32
    }

    fn column(&self, index: usize) -> Rect {
        Rect::from_x_y_ranges(self.x(index)..=self.x(index + 1), self.plot.y_range())
    }

    fn column_at(&self, pos: Pos2) -> Option<usize> {
        let inside = self.plot.x_range().contains(pos.x);
        inside.then(|| {
            ((pos.x - self.plot.left()) / self.plot.width() * self.moments().len() as f32) as usize
        })
    }

    fn index_of_peak(&self) -> Option<usize> {
        let peak = &self.report.memory.at_peak;
        self.moments()
            .iter()
            .position(|m| m.program == peak.program && m.phase == peak.phase && m.node == peak.node)
    }

    /// One mesh, so that neighbouring columns join without seams.
    fn stack(&self) -> Shape {
        let mut mesh = Mesh::default();
        for (index, moment) in self.moments().iter().enumerate() {
            let mut below = 0.0;
            for (class, bytes) in moment.by_class.iter().filter(|(_, bytes)| *bytes > 0) {
                let above = below + bytes as f32;
                let rect = Rect::from_x_y_ranges(
                    self.x(index)..=self.x(index + 1),
                    self.y(above)..=self.y(below),
                );
                mesh.add_colored_rect(rect, fill(class));
                below = above;
            }
        }
        Shape::mesh(mesh)
    }

    fn paint_axis(&self, painter: &Painter) {
        let most_lines = (self.plot.height() / 36.0).max(1.0);
        for bytes in axis::marks(self.top_bytes as f64, most_lines as usize) {
            let y = self.y(bytes as f32);
            painter.hline(
                self.plot.x_range(),
                y,
                Stroke::new(0.5, self.weak.gamma_multiply(0.5)),
            );
            let at = pos2(self.plot.left() - 6.0, y);
            painter.text(
                at,
                Align2::RIGHT_CENTER,
                Bytes(bytes).to_string(),
                self.font.clone(),
                self.weak,
            );
        }
    }

    /// Marks where a phase begins, and names each where its columns are wide enough for the word.
    fn paint_phases(&self, painter: &Painter, rect: Rect) {
        let moments = self.moments();
        let mut start = 0;
        for part in moments.chunk_by(|a, b| a.program == b.program && a.phase == b.phase) {
            let end = start + part.len();
            let (left, right) = (self.x(start), self.x(end));
            if start > 0 {
                painter.vline(
                    left,
                    self.plot.top()..=rect.bottom(),
                    Stroke::new(1.0, self.weak),
                );
            }
            if let Some(moment) = part.first() {
                let galley =
                    painter.layout_no_wrap(phase_name(moment).into(), self.font.clone(), self.text);
                if galley.size().x + 4.0 <= right - left {
                    let x = (left + right - galley.size().x) / 2.0;
                    painter.galley(pos2(x, self.plot.bottom() + 4.0), galley, self.text);
                }
            }
            start = end;
        }
        painter.hline(
            self.plot.x_range(),
            self.plot.bottom(),
            Stroke::new(1.0, self.weak),
        );
    }

    fn paint_budget(&self, painter: &Painter) {
        let Some(budget) = self.budget else { return };
        let bytes = budget.0 as f32;
        let stroke = Stroke::new(1.5, self.alert);
        let (y, words, anchor) = if bytes <= self.top_bytes {
            let line = [
                pos2(self.plot.left(), self.y(bytes)),
                pos2(self.plot.right(), self.y(bytes)),
            ];
            // A casing keeps the line visible on every class.
            painter.line_segment(line, Stroke::new(4.0, self.ground));
            painter.extend(Shape::dashed_line(&line, stroke, 7.0, 4.0));
            (
                self.y(bytes) - 2.0,
                format!("budget {budget}"),
                Align2::RIGHT_BOTTOM,
            )
        } else {
            (
                self.plot.top() + 2.0,
                format!("budget {budget}, above this picture"),
                Align2::RIGHT_TOP,
            )
        };
        let galley = painter.layout_no_wrap(words, self.font.clone(), self.alert);
        let place = anchor.anchor_size(pos2(self.plot.right() - 4.0, y), galley.size());
        painter.rect_filled(place.expand(2.0), 2.0, self.ground);
        painter.galley(place.min, galley, self.alert);
    }

    fn paint_peak(&self, painter: &Painter) {
        let Some(index) = self.index_of_peak() else {
            return;
        };
        let peak = &self.report.memory.at_peak;
        let allocated = peak.by_class.allocated();
        let x = self.column(index).center().x;
        let y = self.y(allocated as f32);
        let words = format!("peak {} at {}", Bytes(allocated), peak.node);
        let galley = painter.layout_no_wrap(words, self.font.clone(), self.text);
        let width = galley.size().x;
        let left = (x - width / 2.0).clamp(
            self.plot.left(),
            (self.plot.right() - width).max(self.plot.left()),
        );
        let band = self.plot.top() - PEAK_BAND_POINTS;
        painter.galley(pos2(left, band + 2.0), galley, self.text);
        let foot = self.plot.top() - 3.0;
        painter.extend(Shape::dashed_line(
            &[pos2(x, foot), pos2(x, y)],
            Stroke::new(1.0, self.text),
            3.0,
            2.0,
        ));
        let tip = vec![pos2(x - 4.5, y - 7.0), pos2(x + 4.5, y - 7.0), pos2(x, y)];
        painter.add(Shape::convex_polygon(tip, self.text, Stroke::NONE));
    }
}

/// Cached bytes are drawn faintly: they are reserved and not in use.
fn fill(class: Class) -> Color32 {
    match class {
        Class::Cached => class_color(class).gamma_multiply(0.45),
        _ => class_color(class),
    }
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
