//! The window on a desktop, and a plain sentence where there is no desktop.

use super::{App, window};
use crate::engine::EngineChoice;
use std::process::ExitCode;

/// Opens the app and returns when its window is closed: with 0, or after a sentence on standard error with 2 where there
/// is no display and 1 where there is one that cannot be drawn on.
pub fn run_native() -> ExitCode {
    match open_window() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, WindowError::NoDisplay { .. }) {
                2
            } else {
                1
            })
        }
    }
}

fn open_window() -> Result<(), WindowError> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_x11_or_wayland() && !has_display(set) {
        return Err(WindowError::NoDisplay {
            detail: String::new(),
        });
    }
    let viewport = egui::ViewportBuilder::default()
        .with_title("Headroom")
        .with_inner_size([1400.0, 900.0])
        .with_min_inner_size([480.0, 360.0]);
    let options = eframe::NativeOptions {
        viewport,
        wgpu_options: window::configuration(),
        ..Default::default()
    };
    let make: eframe::AppCreator<'_> = Box::new(|created| {
        let app = App::new(&created.egui_ctx, EngineChoice::Auto)?;
        Ok(Box::new(app))
    });
    eframe::run_native("headroom", options, make).map_err(|error| match error {
        eframe::Error::WinitEventLoop(_) | eframe::Error::Winit(_) => WindowError::NoDisplay {
            detail: format!(" ({error})"),
        },
        other => WindowError::Window(other.to_string()),
    })
}

/// The window could not be opened. Nothing was trained.
#[derive(Debug, thiserror::Error)]
enum WindowError {
    /// No screen to open a window on: a server, a container, a remote shell.
    #[error(
        "No display was found{detail}, so the app cannot open its window. Train without one: headroom run lessons/01-where-memory-goes/base.toml"
    )]
    NoDisplay {
        /// What the system said, in brackets; empty if it was not asked.
        detail: String,
    },
    /// There is a screen and the window still does not open.
    #[error(
        "The app cannot open its window: {0}. Train without one: headroom run lessons/01-where-memory-goes/base.toml"
    )]
    Window(String),
}

/// Systems on which a window needs a display server that the environment names.
fn is_x11_or_wayland() -> bool {
    cfg!(all(
        unix,
        not(target_os = "macos"),
        not(target_os = "ios"),
        not(target_os = "android")
    ))
}

fn has_display(is_set: impl Fn(&str) -> bool) -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"]
        .into_iter()
        .any(is_set)
}

#[cfg(test)]
mod tests {
    use super::has_display;

    #[test]
    fn any_display_server_will_do() {
        assert!(!has_display(|_| false));
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            assert!(has_display(|asked| asked == name), "{name}");
        }
    }
}
