//! The window: the lesson's text beside a lab in which its experiments run. Every number it shows is a field of the
//! report; it computes none itself.

mod axis;
#[cfg(target_arch = "wasm32")]
pub mod browser;
mod chart;
mod classes;
mod control;
mod curve;
mod data_source;
mod icons;
mod kernels;
mod lab;
mod model_settings;
#[cfg(not(target_arch = "wasm32"))]
mod native;
mod picker;
mod sample;
mod settings;
mod tensors;
mod theme;
mod timeline;
mod totals;
mod wgsl;
mod window;

pub use control::{CommandError, Control};
#[cfg(not(target_arch = "wasm32"))]
pub use native::run_native;
pub use theme::{exact, grouped};

use crate::engine::EngineChoice;
use crate::experiment::ExperimentError;
use crate::lesson::{Lesson, Variant, lessons};
use egui::{
    CentralPanel, ComboBox, Frame, Margin, Panel, RichText, ScrollArea, ThemePreference, Ui,
};
use egui_commonmark::{CommonMarkCache, CommonMarkViewer};
use std::rc::Rc;

/// Below this width the lesson and the lab take turns instead of standing side by side.
const SIDE_BY_SIDE_POINTS: f32 = 1000.0;

/// The app could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The program was built without lessons.
    #[error(
        "a defect in Headroom, please report it: there is no lesson {lesson} with a variant {variant}"
    )]
    NoLesson {
        /// Index of the lesson.
        lesson: usize,
        /// Index of its variant.
        variant: usize,
    },
    /// The experiment of a lesson is not valid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// What fills the window, or its right side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Lesson,
    Lab,
    Kernels,
}

/// The whole app: a lesson, its experiment, and the session that trains it.
pub struct App {
    control: Rc<Control>,
    lesson: usize,
    variant: usize,
    page: Page,
    lab: lab::Lab,
    kernels: kernels::KernelView,
    markdown: CommonMarkCache,
    /// Why the chosen variant could not be opened.
    problem: Option<String>,
}

impl App {
    /// Opens the first lesson with its first experiment; `choice` is the engine that trains.
    ///
    /// # Errors
    /// [`AppError`] if the lessons in the program are not as they should be.
    pub fn new(ctx: &egui::Context, choice: EngineChoice) -> Result<Self, AppError> {
        theme::install(ctx);
        let variant = lessons().first().and_then(|lesson| lesson.variants.first());
        let variant = variant.ok_or(AppError::NoLesson {
            lesson: 0,
            variant: 0,
        })?;
        Ok(Self {
            control: Rc::new(Control::new(variant.experiment()?, choice, ctx)),
            lesson: 0,
            variant: 0,
            page: Page::Lab,
            lab: lab::Lab::default(),
            kernels: kernels::KernelView::default(),
            markdown: CommonMarkCache::default(),
            problem: None,
        })
    }

    /// The handle on the session, for scripts and tests.
    pub fn control(&self) -> Rc<Control> {
        self.control.clone()
    }

    /// Opens variant `variant` of lesson `lesson`, both counted from 0. Resets the training.
    ///
    /// # Errors
    /// [`AppError::NoLesson`] if there is none, [`AppError::Experiment`] if its experiment is not valid.
    pub fn open(&mut self, lesson: usize, variant: usize) -> Result<(), AppError> {
        let found = lessons().get(lesson).and_then(|l| l.variants.get(variant));
        let found = found.ok_or(AppError::NoLesson { lesson, variant })?;
        self.control.replace(found.experiment()?);
        (self.lesson, self.variant) = (lesson, variant);
        Ok(())
    }

    /// Draws the whole window.
    pub fn show(&mut self, ui: &mut Ui) {
        let state = self.control.state();
        let wide = ui.available_width() >= SIDE_BY_SIDE_POINTS;
        Panel::top("title").show(ui, |ui| self.title(ui, wide));
        if wide {
            let frame = Frame::side_top_panel(ui.style()).inner_margin(Margin {
                left: 16,
                right: 2,
                top: 8,
                bottom: 2,
            });
            let panel = Panel::left("lesson")
                .frame(frame)
                .default_size(400.0)
                .size_range(260.0..=640.0);
            panel.show(ui, |ui| self.lesson(ui));
        }
        let margin = Margin {
            left: 12,
            right: 4,
            top: 8,
            bottom: 4,
        };
        let frame = Frame::central_panel(ui.style()).inner_margin(margin);
        CentralPanel::default()
            .frame(frame)
            .show(ui, |ui| match self.page {
                Page::Lesson if !wide => self.lesson(ui),
                Page::Lesson | Page::Lab => self.lab.show(ui, &self.control, &state),
                Page::Kernels => self.kernels.show(ui, state.report.as_deref()),
            });
    }

    /// Name, pages, choice of lesson and experiment, theme.
    fn title(&mut self, ui: &mut Ui, wide: bool) {
        ui.add_space(3.0);
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new("Headroom").heading().strong());
            ui.separator();
            let pages: &[_] = if wide {
                &[]
            } else {
                &[(Page::Lesson, "Lesson")]
            };
            for (page, name) in pages
                .iter()
                .chain(&[(Page::Lab, "Lab"), (Page::Kernels, "Kernels")])
            {
                let is_open =
                    self.page == *page || wide && self.page == Page::Lesson && *page == Page::Lab;
                if ui.selectable_label(is_open, *name).clicked() {
                    self.page = *page;
                }
            }
            ui.separator();
            self.choices(ui);
            theme_menu(ui);
        });
        if let Some(problem) = &self.problem {
            theme::message(
                ui,
                "This experiment cannot be opened.",
                problem,
                theme::alert_color(ui),
            );
        }
        ui.add_space(3.0);
    }

    fn choices(&mut self, ui: &mut Ui) {
        let mut chosen = (self.lesson, self.variant);
        let title_of = |lesson: &Lesson| lesson.title;
        if lessons().len() > 1 {
            let title = lessons().get(chosen.0).map_or("", title_of);
            let label = ui.label("Lesson");
            let combo = ComboBox::from_id_salt("lesson choice")
                .selected_text(title)
                .width(170.0)
                .truncate();
            combo
                .show_ui(ui, |ui| {
                    for (index, lesson) in lessons().iter().enumerate() {
                        if ui
                            .selectable_label(index == chosen.0, lesson.title)
                            .clicked()
                        {
                            chosen = (index, 0);
                        }
                    }
                })
                .response
                .labelled_by(label.id);
        }
        let Some(lesson) = lessons().get(chosen.0) else {
            return;
        };
        let label = ui.label("Experiment");
        // The file's name first: it is what the text calls the experiment.
        let name_of = |variant: &Variant| format!("{}: {}", variant.slug, variant.title);
        let title = lesson
            .variants
            .get(chosen.1)
            .map_or_else(String::new, name_of);
        let combo = ComboBox::from_id_salt("experiment choice")
            .selected_text(title)
            .width(220.0)
            .truncate();
        combo
            .show_ui(ui, |ui| {
                for (index, variant) in lesson.variants.iter().enumerate() {
                    // Choosing the one that is open brings its settings back.
                    if ui
                        .selectable_label(index == chosen.1, name_of(variant))
                        .clicked()
                    {
                        self.problem = self
                            .open(chosen.0, index)
                            .err()
                            .map(|error| error.to_string());
                    }
                }
            })
            .response
            .labelled_by(label.id);
        if chosen.0 != self.lesson {
            self.problem = self.open(chosen.0, 0).err().map(|error| error.to_string());
        }
    }

    fn lesson(&mut self, ui: &mut Ui) {
        let Some(lesson) = lessons().get(self.lesson) else {
            return;
        };
        ScrollArea::vertical()
            .id_salt(("lesson text", self.lesson))
            .auto_shrink(false)
            .show(ui, |ui| {
                // Long lines are hard to read, and the scroll bar floats above the text.
                ui.set_max_width((ui.available_width() - 14.0).min(660.0));
                CommonMarkViewer::new().show(ui, &mut self.markdown, lesson.markdown);
                ui.add_space(24.0);
            });
    }
}

/// Words instead of the usual icons: those need a font that every visitor of the page would download.
fn theme_menu(ui: &mut Ui) {
    ui.menu_button("Theme", |ui| {
        let mut preference = ui.options(|options| options.theme_preference);
        ui.radio_value(&mut preference, ThemePreference::Light, "Light");
        ui.radio_value(&mut preference, ThemePreference::Dark, "Dark");
        ui.radio_value(&mut preference, ThemePreference::System, "As the system");
        ui.ctx().set_theme(preference);
    });
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.show(ui);
    }
}
