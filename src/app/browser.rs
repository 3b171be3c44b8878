//! The app on a page: started on a canvas, and steered by the page's scripts.

use super::{App, Control, window};
use crate::engine::EngineChoice;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsValue;

thread_local! {
    /// The session of the page, once it has started.
    static CONTROL: RefCell<Option<Rc<Control>>> = const { RefCell::new(None) };
}

/// Sends panics and log lines to the browser's console.
pub fn install_hooks() {
    console_error_panic_hook::set_once();
    // A second logger is refused, and the first one serves as well.
    let _ = eframe::WebLogger::init(log::LevelFilter::Warn);
}

/// Draws the app on `canvas`.
///
/// # Errors
/// What the browser says if it offers neither WebGPU nor WebGL 2 to draw with.
pub async fn start(canvas: web_sys::HtmlCanvasElement) -> Result<(), JsValue> {
    let options = eframe::WebOptions {
        wgpu_options: window::configuration(),
        ..Default::default()
    };
    let make: eframe::AppCreator<'static> = Box::new(|created| {
        let app = App::new(&created.egui_ctx, EngineChoice::Auto)?;
        CONTROL.set(Some(app.control()));
        super::picker::wake(&created.egui_ctx);
        Ok(Box::new(app))
    });
    eframe::WebRunner::new().start(canvas, options, make).await
}

/// The state of the training as JSON; status `loading` until the app has started.
pub fn state_json() -> String {
    CONTROL.with_borrow(|control| match control {
        Some(control) => control.state_json(),
        None => String::from(r#"{"status":"loading","step":0,"losses":[],"message":null}"#),
    })
}

/// Follows `start`, `pause`, `reset` or `set FIELD=VALUE`.
///
/// # Errors
/// A sentence that names what is wrong with the command.
pub fn command(text: &str) -> Result<(), JsValue> {
    CONTROL.with_borrow(|control| match control {
        Some(control) => control
            .command(text)
            .map_err(|error| JsValue::from_str(&error.to_string())),
        None => Err(JsValue::from_str("the app has not started yet")),
    })
}
