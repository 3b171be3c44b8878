//! Bars: how many bytes of which class there are at the peak.

use super::theme::{self, class_color, exact};
use crate::graph::{CLASSES, Class};
use crate::report::Report;
use crate::units::Bytes;
use egui::{Align2, Rect, Sense, TextStyle, Ui, pos2, vec2};

const ROW_POINTS: f32 = 21.0;
const NAME_POINTS: f32 = 112.0;
const BYTES_POINTS: f32 = 78.0;

/// One bar for each class that has bytes at the peak, on one scale.
pub(super) fn show(ui: &mut Ui, report: &Report) {
    let at_peak = &report.memory.at_peak.by_class;
    let largest = at_peak.iter().map(|(_, bytes)| bytes).max().unwrap_or(0);
    for (class, bytes) in at_peak.iter().filter(|(_, bytes)| *bytes > 0) {
        bar(ui, report, class, bytes, largest);
    }
    let absent: Vec<&str> = CLASSES
        .into_iter()
        .filter(|c| at_peak.get(*c) == 0)
        .map(Class::name)
        .collect();
    if !absent.is_empty() {
        ui.weak(format!("0 bytes of: {}", absent.join(", ")));
    }
}

fn bar(ui: &mut Ui, report: &Report, class: Class, bytes: u64, largest: u64) {
    let size = vec2(ui.available_width(), ROW_POINTS);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let anywhere = report.memory.peak_by_class.get(class);
    theme::describe(&response, || {
        let (now, most) = (exact(bytes), exact(anywhere));
        format!(
            "{}: {now} at the peak; at most {most} at any moment of the step",
            class.name()
        )
    });
    if ui.is_rect_visible(rect) {
        let font = TextStyle::Body.resolve(ui.style());
        let color = ui.visuals().text_color();
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        painter.text(
            rect.left_center(),
            Align2::LEFT_CENTER,
            class.name(),
            font.clone(),
            color,
        );
        painter.text(
            rect.right_center(),
            Align2::RIGHT_CENTER,
            Bytes(bytes).to_string(),
            font,
            color,
        );
        let track = Rect::from_x_y_ranges(
            rect.left() + NAME_POINTS
                ..=(rect.right() - BYTES_POINTS).max(rect.left() + NAME_POINTS),
            rect.top() + 4.0..=rect.bottom() - 4.0,
        );
        painter.rect_filled(track, 2.0, ui.visuals().extreme_bg_color);
        let share = bytes as f32 / largest.max(1) as f32;
        let end = pos2(
            track.left() + (track.width() * share).max(1.5),
            track.bottom(),
        );
        painter.rect_filled(Rect::from_min_max(track.min, end), 2.0, class_color(class));
    }
    response.on_hover_ui(|ui| {
        ui.strong(class.name());
        ui.label(class.explanation());
        ui.label(format!("At the peak: {}", exact(bytes)));
        ui.label(format!(
            "At most, at any moment of the step: {}",
            exact(anywhere)
        ));
    });
}
