//! Colours, text sizes and small pieces that every part of the window draws alike.

use crate::graph::{ByClass, Class};
use crate::report::palette;
use crate::units::Bytes;
use egui::{
    Color32, FontFamily, FontId, Frame, Margin, Response, RichText, Role, ScrollArea, Stroke,
    TextStyle, Ui, WidgetInfo, vec2,
};

/// A longer message is scrolled, so that the numbers below it stay in sight.
const MESSAGE_POINTS: f32 = 210.0;

/// The colour of a class in every picture and legend.
pub(super) fn class_color(class: Class) -> Color32 {
    let [red, green, blue] = palette::color(class);
    Color32::from_rgb(red, green, blue)
}

/// Colour of the budget and of errors: no class has it.
pub(super) fn alert_color(ui: &Ui) -> Color32 {
    if ui.visuals().dark_mode {
        Color32::from_rgb(255, 107, 107)
    } else {
        Color32::from_rgb(190, 30, 45)
    }
}

/// Sets text sizes, distances and colours for both themes.
pub(super) fn install(ctx: &egui::Context) {
    super::icons::install(ctx);
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (
                TextStyle::Heading,
                FontId::new(18.0, FontFamily::Proportional),
            ),
            (TextStyle::Body, FontId::new(14.0, FontFamily::Proportional)),
            (
                TextStyle::Button,
                FontId::new(14.0, FontFamily::Proportional),
            ),
            (
                TextStyle::Small,
                FontId::new(11.5, FontFamily::Proportional),
            ),
            (
                TextStyle::Monospace,
                FontId::new(12.5, FontFamily::Monospace),
            ),
        ]
        .into();
        style.spacing.item_spacing = vec2(8.0, 5.0);
        style.spacing.button_padding = vec2(8.0, 3.0);
        style.spacing.tooltip_width = 380.0;
        style.interaction.tooltip_delay = 0.15;
    });
    ctx.style_mut_of(egui::Theme::Dark, |style| {
        style.visuals.panel_fill = Color32::from_rgb(27, 29, 33);
        style.visuals.extreme_bg_color = Color32::from_rgb(19, 20, 23);
        style.visuals.faint_bg_color = Color32::from_rgb(34, 36, 41);
        style.visuals.widgets.noninteractive.fg_stroke.color = Color32::from_rgb(205, 208, 214);
        style.visuals.widgets.inactive.fg_stroke.color = Color32::from_rgb(220, 222, 227);
    });
    ctx.style_mut_of(egui::Theme::Light, |style| {
        style.visuals.panel_fill = Color32::from_rgb(250, 250, 249);
        style.visuals.faint_bg_color = Color32::from_rgb(241, 241, 239);
        style.visuals.widgets.noninteractive.fg_stroke.color = Color32::from_rgb(45, 47, 52);
        style.visuals.widgets.inactive.fg_stroke.color = Color32::from_rgb(40, 42, 47);
    });
}

/// A framed part of the lab with its title.
pub(super) fn card<R>(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let frame = Frame::new()
        .fill(ui.visuals().faint_bg_color)
        .corner_radius(6.0)
        .inner_margin(Margin::symmetric(10, 8));
    let shown = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new(title).strong());
        contents(ui)
    });
    shown.inner
}

/// A framed message in full: `title`, and below it `text`, which can be selected, copied and, if it is long, scrolled.
pub(super) fn message(ui: &mut Ui, title: &str, text: &str, color: Color32) {
    let frame = Frame::new()
        .stroke(Stroke::new(1.0, color))
        .corner_radius(6.0)
        .inner_margin(Margin::symmetric(10, 8));
    // Messages of several lines have columns.
    let style = if text.contains('\n') {
        TextStyle::Monospace
    } else {
        TextStyle::Body
    };
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new(title).strong().color(color));
        let scroll = ScrollArea::vertical()
            .id_salt(title)
            .max_height(MESSAGE_POINTS)
            .auto_shrink([false, true]);
        scroll.show(ui, |ui| {
            let words = RichText::new(text).text_style(style);
            ui.add(egui::Label::new(words).wrap().selectable(true));
        });
    });
}

/// A number of bytes to the last one, and as a person reads it.
pub fn exact(bytes: u64) -> String {
    format!("{} bytes ({})", grouped(bytes), Bytes(bytes))
}

/// A whole number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len().div_ceil(3));
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Classes that have bytes, with them, in one line.
pub(super) fn class_list(by_class: &ByClass) -> String {
    let present = by_class.iter().filter(|(_, bytes)| *bytes > 0);
    let parts: Vec<String> = present
        .map(|(class, bytes)| format!("{} {}", class.name(), exact(bytes)))
        .collect();
    parts.join(", ")
}

/// Gives a picture the words a screen reader says for it.
pub(super) fn describe(response: &Response, text: impl Fn() -> String) {
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, text()));
}

/// A small square in the colour of a class.
pub(super) fn swatch(ui: &mut Ui, class: Class) {
    let (rect, _) = ui.allocate_exact_size(vec2(11.0, 11.0), egui::Sense::hover());
    ui.painter().rect_filled(rect, 2.0, class_color(class));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (2_678_824, "2,678,824"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
