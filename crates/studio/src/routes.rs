//! The addresses of the server.
//!
//! | address | does |
//! |---|---|
//! | `/`, `/studio.js`, `/studio.css` | the application |
//! | `/api/folder`, `/api/file` | lists programs and runs; reads and saves programs |
//! | `/api/runs`, `/api/runs/N/stream`, `/api/runs/N/stop` | starts, watches and stops runs |
//! | `/api/figures` | figures of a run up to now, as JSON |
//! | `/api/import` | an uploaded log becomes a run and a program |
//! | `/page`, `/compare` | pages of runs, for a frame without rights |
//! | `/lsp`, `/api/see`, `/api/step` | the language service, the rehearsal |

use crate::answer::Refused;
use crate::folder::{Listing, TEXT_MAX, Text};
use crate::guard::guard;
use crate::jobs::Summary;
use crate::start::Start;
use crate::tools::{self, Imported, LOG_MAX};
use crate::{Studio, assets, language};
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

type Answer<T> = Result<Json<T>, Refused>;
type This = State<Arc<Studio>>;

/// All addresses behind the guard.
pub fn router(studio: Arc<Studio>) -> Router {
    Router::new()
        .route("/", get(assets::page))
        .route("/studio.js", get(assets::script))
        .route("/studio.css", get(assets::style))
        .route("/api/folder", get(folder))
        .route("/api/file", get(read).put(save))
        .route("/api/runs", get(runs).post(start))
        .route("/api/runs/{id}/stop", post(stop))
        .route("/api/runs/{id}/stream", get(stream))
        .route("/api/figures", get(figures))
        .route("/api/import", post(import).layer(DefaultBodyLimit::disable()))
        .route("/page", get(page))
        .route("/compare", get(compare))
        .merge(language::router())
        // JSON may write every letter of a text as six.
        .layer(DefaultBodyLimit::max(6 * TEXT_MAX as usize))
        .layer(middleware::from_fn_with_state(studio.clone(), guard))
        .with_state(studio)
}

/// Settings that the application reads at its start.
#[derive(Serialize)]
struct Opened {
    folder: String,
    directories: Vec<String>,
    #[serde(flatten)]
    listing: Listing,
}

async fn folder(State(studio): This) -> Json<Opened> {
    let shown = |path: &std::path::PathBuf| path.display().to_string();
    Json(Opened {
        folder: studio.folder.path().display().to_string(),
        directories: studio.directories.iter().map(shown).collect(),
        listing: studio.folder.list(),
    })
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

async fn read(State(studio): This, Query(file): Query<Named>) -> Answer<Text> {
    studio.folder.read(&file.name).map(Json)
}

#[derive(Deserialize)]
struct Save {
    name: String,
    text: String,
    /// The version that was read; empty: there was no such file.
    replaces: String,
}

async fn save(State(studio): This, Json(save): Json<Save>) -> Answer<Text> {
    studio.folder.save(&save.name, &save.text, &save.replaces).map(Json)
}

async fn runs(State(studio): This) -> Json<Vec<Summary>> {
    Json(studio.jobs.list())
}

async fn start(State(studio): This, Json(start): Json<Start>) -> Answer<Summary> {
    let (words, out) = start.words(&studio)?;
    let job = studio.jobs.start(&studio.program, words, studio.folder.path(), out)?;
    Ok(Json(job.summary()))
}

async fn stop(State(studio): This, Path(id): Path<u64>) -> Answer<()> {
    studio.jobs.find(id)?.stop().map(Json)
}

async fn stream(
    State(studio): This,
    Path(id): Path<u64>,
    socket: WebSocketUpgrade,
) -> Result<Response, Refused> {
    let job = studio.jobs.find(id)?;
    Ok(socket.on_upgrade(async move |mut socket: WebSocket| {
        let (mut changed, mut next) = (job.watch(), 0);
        loop {
            changed.mark_unchanged();
            let (lines, after, goes_on) = job.after(next);
            next = after;
            for line in lines {
                if socket.send(Message::text(line)).await.is_err() {
                    return;
                }
            }
            if !goes_on {
                return;
            }
            tokio::select! {
                _ = changed.changed() => {}
                // Nothing is expected from the browser but its end.
                None | Some(Err(_)) = socket.recv() => return,
            }
        }
    }))
}

async fn figures(State(studio): This, Query(run): Query<Named>) -> Result<Response, Refused> {
    let run = studio.folder.run(&run.name)?;
    let text = tools::call(&studio, &["report", &run, "--format", "json"]).await?;
    Ok(([(axum::http::header::CONTENT_TYPE, "application/json")], text).into_response())
}

async fn import(
    State(studio): This,
    Query(log): Query<Named>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Imported> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > LOG_MAX) {
        return Err(tools::too_long());
    }
    tools::import(&studio, &log.name, body).await.map(Json)
}

async fn page(State(studio): This, Query(run): Query<Named>) -> Response {
    framed(async {
        let run = studio.folder.run(&run.name)?;
        tools::page(&studio, &["report", &run]).await
    })
    .await
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    #[serde(default)]
    anyway: bool,
}

async fn compare(State(studio): This, Query(pair): Query<Pair>) -> Response {
    framed(async {
        let (a, b) = (studio.folder.run(&pair.a)?, studio.folder.run(&pair.b)?);
        let words = ["compare", &a, &b, "--anyway"];
        tools::page(&studio, if pair.anyway { &words } else { &words[..3] }).await
    })
    .await
}

/// A page for a frame of the application, without rights in it: names and labels in it come from others. Its own
/// policy, which is in the page, allows its script and nothing else.
async fn framed(page: impl Future<Output = Result<String, Refused>>) -> Response {
    const POLICY: &str = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'";
    let text = page.await.unwrap_or_else(|refused| {
        let escape = |text: String| text.replace('&', "&amp;").replace('<', "&lt;");
        format!(
            "<!DOCTYPE html><html lang=\"en\"><head><title>No page</title><meta name=\"color-scheme\" \
             content=\"light dark\"></head><body><main><h1>No page</h1><pre>{}</pre></main></body></html>",
            escape(refused.message)
        )
    });
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(text)).into_response()
}
