//! Starts Headroom: the command line and the window natively, the page's program in a browser.
#![warn(clippy::disallowed_methods)]

#[cfg(target_arch = "wasm32")]
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    headroom::cli::main()
}

/// Runs when the module has been loaded; the page calls [`start`] next.
#[cfg(target_arch = "wasm32")]
fn main() {
    headroom::app::browser::install_hooks();
}

/// Draws the app on the page's canvas.
///
/// # Errors
/// What the browser says if it has nothing to draw with.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen]
pub async fn start(canvas: web_sys::HtmlCanvasElement) -> Result<(), JsValue> {
    headroom::app::browser::start(canvas).await
}

/// The state of the training as JSON.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen]
pub fn state_json() -> String {
    headroom::app::browser::state_json()
}

/// Follows `start`, `pause`, `reset` or `set FIELD=VALUE`.
///
/// # Errors
/// A sentence that names what is wrong with the command.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen]
pub fn command(text: &str) -> Result<(), JsValue> {
    headroom::app::browser::command(text)
}
