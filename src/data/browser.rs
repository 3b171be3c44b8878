//! Data in the browser: files beside the page.

use super::capacity::check_block;
use super::dataset::{Dataset, Split};
use super::error::DataError;
use super::fashion::{self, PartFiles, TEST_FILES, TRAIN_FILES, read_part};
use super::file::Opened;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Address of the shipped text.
pub(super) const AUSTEN: &str = "data/austen/austen.txt.gz";

/// Loads the subset of Fashion-MNIST from the folder `data/` beside the page.
pub(super) async fn fashion(path: Option<&str>) -> Result<Split, DataError> {
    if let Some(path) = path {
        return Err(DataError::PathInBrowser {
            path: path.to_owned(),
        });
    }
    let train = part(&TRAIN_FILES).await?;
    let test = part(&TEST_FILES).await?;
    Ok(fashion::split(train, test))
}

async fn part(files: &PartFiles) -> Result<Dataset, DataError> {
    let images = address(files.images);
    let labels = address(files.labels);
    let image_bytes = fetch(&images).await?;
    let label_bytes = fetch(&labels).await?;
    read_part(
        Opened::of_bytes(&images, &image_bytes),
        Opened::of_bytes(&labels, &label_bytes),
    )
}

fn address(file: &str) -> String {
    format!("data/{}/{file}.gz", fashion::NAME)
}

/// Fetches `address`, relative to the page. The bytes enter WebAssembly's memory only after their size is checked.
pub(super) async fn fetch(address: &str) -> Result<Vec<u8>, DataError> {
    let refuse = |reason: String| DataError::Fetch {
        file: address.to_owned(),
        reason,
    };
    let refuse_js = |error: JsValue| refuse(text_of(&error));
    let window = web_sys::window()
        .ok_or_else(|| refuse(String::from("this is not a page with a window")))?;
    let response = JsFuture::from(window.fetch_with_str(address))
        .await
        .map_err(refuse_js)?;
    let response: web_sys::Response = response.dyn_into().map_err(refuse_js)?;
    if !response.ok() {
        let status = response.status();
        return Err(refuse(format!("the server answered with status {status}")));
    }
    let body = response.array_buffer().map_err(refuse_js)?;
    let body = JsFuture::from(body).await.map_err(refuse_js)?;
    let outside = js_sys::Uint8Array::new(&body);
    check_block(u64::from(outside.length()))?;
    let length = outside.length() as usize;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| refuse(format!("there is no memory left for its {length} bytes")))?;
    bytes.resize(length, 0);
    outside.copy_to(&mut bytes);
    Ok(bytes)
}

/// What a browser says about a failure.
fn text_of(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => format!("{error:?}"),
    }
}
