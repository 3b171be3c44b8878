//! What a browser tells about its adapter beyond the description, which most leave empty: vendor and architecture.

use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Vendor and architecture, such as "nvidia ada" or "google swiftshader"; none if the browser does not tell.
pub(super) async fn adapter_name() -> Option<String> {
    let gpu = get(&web_sys::window()?.navigator().into(), "gpu")?;
    let options = js_sys::Object::new();
    // The same wish as the engine's own request, so that both get the same adapter.
    js_sys::Reflect::set(
        &options,
        &"powerPreference".into(),
        &"high-performance".into(),
    )
    .ok()?;
    let request: js_sys::Function = get(&gpu, "requestAdapter")?.dyn_into().ok()?;
    let promise: js_sys::Promise = request.call1(&gpu, &options).ok()?.dyn_into().ok()?;
    let info = get(&JsFuture::from(promise).await.ok()?, "info")?;
    let words: Vec<String> = ["vendor", "architecture"]
        .into_iter()
        .filter_map(|field| get(&info, field)?.as_string())
        .filter(|word| !word.is_empty())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A property that is there.
fn get(object: &JsValue, name: &str) -> Option<JsValue> {
    let value = js_sys::Reflect::get(object, &name.into()).ok()?;
    (!value.is_undefined() && !value.is_null()).then_some(value)
}
