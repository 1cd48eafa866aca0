//! The application for the browser, built by `make web` and embedded here.

use axum::http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: &str = include_str!("../../../web/dist/studio.html");
/// Packed with gzip (build.rs), as every browser takes it.
const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/studio.js.gz"));
const STYLE: &str = include_str!("../../../web/dist/studio.css");

/// What the page is called with to find a place of its own for the styles of the editor.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// The page. Nothing in it is executed but its own script; the editor may add style sheets with the page's nonce.
pub async fn page() -> Response {
    let nonce = format!("{:x}-{}", std::process::id(), LOADS.fetch_add(1, Ordering::Relaxed));
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; \
         connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    ([(CONTENT_SECURITY_POLICY, policy)], Html(PAGE.replace("NONCE", &nonce))).into_response()
}

/// The script.
pub async fn script() -> Response {
    let packed = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CONTENT_ENCODING, "gzip")];
    (packed, SCRIPT).into_response()
}

/// The style sheet.
pub async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}
