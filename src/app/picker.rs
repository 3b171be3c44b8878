//! Files that are picked or dropped. A browser gives their bytes, the desktop a path; instead of a picker it has a text
//! field for that.

use egui::Ui;

/// Draws the button, where there is a picker; whether it was pressed.
pub(super) fn button(ui: &mut Ui) -> bool {
    cfg!(target_arch = "wasm32") && ui.button("Choose a file…").clicked()
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    pub(in crate::app) fn open() {}

    /// The path of a file that was dropped on the window.
    pub(in crate::app) fn dropped(file: &egui::DroppedFileHandle) -> Option<String> {
        Some(file.path().display().to_string())
    }

    pub(in crate::app) fn taken() -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }
}

#[cfg(target_arch = "wasm32")]
mod browser {
    use std::cell::RefCell;
    use wasm_bindgen::prelude::{Closure, JsCast};

    thread_local! {
        /// Files that have been read and not been taken yet.
        static READ: RefCell<Vec<(String, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
    }

    /// Opens the browser's file dialog. What is chosen comes out of [`taken`] once it is read.
    pub(in crate::app) fn open() {
        let Some(input) = input() else {
            log::error!("the page has no file input");
            return;
        };
        input.click();
    }

    /// Reads a file that was dropped on the page; it comes out of [`taken`].
    pub(in crate::app) fn dropped(file: &egui::DroppedFileHandle) -> Option<String> {
        let file = file.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let name = file.path().display().to_string();
            match file.bytes_async().await {
                Ok(bytes) => keep(name, bytes),
                Err(error) => log::error!("{name} could not be read: {error}"),
            }
        });
        None
    }

    fn keep(name: String, bytes: Vec<u8>) {
        READ.with_borrow_mut(|read| read.push((name, bytes)));
        if let Some(ctx) = CONTEXT.get() {
            ctx.request_repaint();
        }
    }

    /// The files that have been read since the last call.
    pub(in crate::app) fn taken() -> Vec<(String, Vec<u8>)> {
        // The input is made with the first frame, so that a script can find it before a reader has pressed the button.
        let _ = input();
        READ.take()
    }

    /// The page's hidden file input, made at the first call.
    fn input() -> Option<web_sys::HtmlInputElement> {
        const ID: &str = "headroom-file";
        let document = web_sys::window()?.document()?;
        if let Some(found) = document.get_element_by_id(ID) {
            return found.dyn_into().ok();
        }
        let input: web_sys::HtmlInputElement =
            document.create_element("input").ok()?.dyn_into().ok()?;
        input.set_id(ID);
        input.set_type("file");
        input.set_hidden(true);
        let chosen = Closure::<dyn FnMut(web_sys::Event)>::new(|event: web_sys::Event| {
            let input = event.target().and_then(|t| t.dyn_into().ok());
            if let Some(input) = input {
                wasm_bindgen_futures::spawn_local(read(input));
            }
        });
        input.set_onchange(Some(chosen.as_ref().unchecked_ref()));
        // The input lives as long as the page, and so does what it calls.
        chosen.forget();
        document.body()?.append_child(&input).ok()?;
        Some(input)
    }

    async fn read(input: web_sys::HtmlInputElement) {
        let Some(file) = input.files().and_then(|files| files.get(0)) else {
            return;
        };
        let bytes = wasm_bindgen_futures::JsFuture::from(file.array_buffer()).await;
        match bytes.map(|buffer| js_sys::Uint8Array::new(&buffer).to_vec()) {
            Ok(bytes) => keep(file.name(), bytes),
            Err(error) => log::error!("{} could not be read: {error:?}", file.name()),
        }
        // Choosing the same file again is a change too.
        input.set_value("");
    }

    /// What to wake when a file has been read.
    static CONTEXT: std::sync::OnceLock<egui::Context> = std::sync::OnceLock::new();

    /// Says which window shows what was picked.
    pub(in crate::app) fn wake(ctx: &egui::Context) {
        let _ = CONTEXT.set(ctx.clone());
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) use browser::{dropped, open, taken, wake};
#[cfg(not(target_arch = "wasm32"))]
pub(super) use native::{dropped, open, taken};
