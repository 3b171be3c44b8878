//! Giving the event loop of a browser its turn.

/// Gives the event loop of a browser its turn, so that the page handles input between two updates. Natively a training
/// has a thread of its own.
#[cfg(not(target_arch = "wasm32"))]
pub(super) async fn breathe() {}

#[cfg(target_arch = "wasm32")]
pub(super) async fn breathe() {
    let promise = js_sys::Promise::new(&mut |resolve, _reject| {
        let scheduled = web_sys::window().map(|window| window.set_timeout_with_callback(&resolve));
        if !matches!(scheduled, Some(Ok(_))) {
            let _ = resolve.call0(&wasm_bindgen::JsValue::NULL);
        }
    });
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}
