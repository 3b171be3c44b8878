//! The loss curve.

use super::theme;
use crate::report::{LossReport, Report};
use egui::{Color32, Ui, Vec2b};
use egui_plot::{HoverPosition, Line, Plot, PlotPoints};

/// Points drawn at most. A longer curve is thinned to the lowest and highest loss of each stretch, so that no spike is lost.
const POINTS: usize = 1200;

/// The loss of every update so far, `height` points high.
pub(super) fn show(ui: &mut Ui, report: &Report, total_updates: usize, height: f32) {
    let Some(loss) = report.loss.as_ref().filter(|loss| !loss.curve.is_empty()) else {
        ui.allocate_ui(egui::vec2(ui.available_width(), height), |ui| {
            ui.set_min_height(height);
            ui.centered_and_justified(|ui| ui.weak("The loss appears here when training runs."));
        });
        return;
    };
    let points: PlotPoints<'_> = thinned(&loss.curve)
        .into_iter()
        .map(|(update, loss)| [update as f64, f64::from(loss)])
        .collect();
    let color = if ui.visuals().dark_mode {
        Color32::from_rgb(230, 232, 236)
    } else {
        Color32::from_rgb(40, 44, 52)
    };
    let plot = Plot::new("loss curve")
        .height(height)
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_background(false)
        .show_grid(Vec2b::new(false, true))
        .include_x(0.0)
        .include_x(total_updates as f64)
        .include_y(0.0)
        .x_axis_label("update")
        .label_formatter(|hover| match hover {
            HoverPosition::NearDataPoint { position, .. } => {
                Some(format!("update {:.0}\nloss {:.4}", position.x, position.y))
            }
            HoverPosition::Elsewhere { .. } => None,
        });
    let shown = plot.show(ui, |plot| {
        plot.line(Line::new("loss", points).color(color).width(1.0));
    });
    theme::describe(&shown.response, || describe(loss));
}

fn describe(loss: &LossReport) -> String {
    format!(
        "Loss curve, {} updates: first {:.4}, last {:.4}",
        loss.curve.len(),
        loss.first,
        loss.last
    )
}

/// At most [`POINTS`] points of `curve` with the same outline.
fn thinned(curve: &[(usize, f32)]) -> Vec<(usize, f32)> {
    if curve.len() <= POINTS {
        return curve.to_vec();
    }
    let stretch = curve.len().div_ceil(POINTS / 2);
    let by_loss = |a: &&(usize, f32), b: &&(usize, f32)| a.1.total_cmp(&b.1);
    let mut kept = Vec::with_capacity(POINTS);
    for part in curve.chunks(stretch) {
        let mut ends: Vec<(usize, f32)> =
            [part.iter().min_by(by_loss), part.iter().max_by(by_loss)]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        ends.sort_by_key(|(update, _)| *update);
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{POINTS, thinned};

    #[test]
    fn thinning_keeps_a_single_spike_and_the_order() {
        let mut curve: Vec<(usize, f32)> =
            (0..100_000).map(|i| (i, 1.0 / (i as f32 + 1.0))).collect();
        curve[77_777].1 = 9.0;
        let kept = thinned(&curve);
        assert!(kept.len() <= POINTS, "{} points", kept.len());
        assert!(kept.contains(&(77_777, 9.0)), "the spike is gone");
        assert!(kept.is_sorted_by_key(|(update, _)| *update));
    }

    #[test]
    fn a_short_curve_is_drawn_whole() {
        let curve = vec![(0, 2.0), (1, f32::NAN), (2, 1.0)];
        assert_eq!(thinned(&curve).len(), 3);
    }
}
