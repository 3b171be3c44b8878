//! The picture of the memory timeline: where a node and a number of bytes stand in it, and how each part is painted.

use super::axis;
use super::theme::{self, class_color};
use crate::graph::{Class, Program};
use crate::plan::Moment;
use crate::report::Report;
use crate::units::Bytes;
use egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke, TextStyle, Ui, pos2,
};

const AXIS_POINTS: f32 = 70.0;
const PEAK_BAND_POINTS: f32 = 20.0;
const PHASE_BAND_POINTS: f32 = 20.0;
/// A budget further above the stack than this factor would flatten it; it is then told in words.
const BUDGET_IN_VIEW: f32 = 1.6;

/// What a picture of one report needs in every part.
pub(super) struct Chart<'a> {
    report: &'a Report,
    budget: Option<Bytes>,
    /// Where the columns stand.
    plot: Rect,
    /// Bytes at the upper edge of `plot`.
    top_bytes: f32,
    /// Colour of what must be read.
    pub(super) text: Color32,
    weak: Color32,
    alert: Color32,
    /// What the chart stands on.
    ground: Color32,
    font: FontId,
}

impl<'a> Chart<'a> {
    /// Lays the chart out in `rect`.
    pub(super) fn new(ui: &Ui, report: &'a Report, budget: Option<Bytes>, rect: Rect) -> Self {
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

    /// The place of node `index`, over the whole height.
    pub(super) fn column(&self, index: usize) -> Rect {
        Rect::from_x_y_ranges(self.x(index)..=self.x(index + 1), self.plot.y_range())
    }

    /// The node under `pos`.
    pub(super) fn column_at(&self, pos: Pos2) -> Option<usize> {
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
    pub(super) fn stack(&self) -> Shape {
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

    /// Marks for the bytes.
    pub(super) fn paint_axis(&self, painter: &Painter) {
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
    pub(super) fn paint_phases(&self, painter: &Painter, rect: Rect) {
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

    /// The line that must not be crossed.
    pub(super) fn paint_budget(&self, painter: &Painter) {
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

    /// The node with the most bytes in use.
    pub(super) fn paint_peak(&self, painter: &Painter) {
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

/// The name of a part of the timeline.
pub(super) fn phase_name(moment: &Moment) -> &'static str {
    match (moment.program, moment.phase) {
        (Program::Evaluate, _) => "test",
        (Program::Generate, _) => "text",
        (_, phase) => phase.name(),
    }
}
