//! What knows PPL is given to the studio by the command line: the language service, the rehearsal, single steps. Each
//! call is on a thread of its own with a large stack; the server goes on meanwhile.

use crate::answer::Refused;
use crate::folder::TEXT_MAX;
use crate::{Request, Session, Studio};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;

/// Open documents with a language service at a time: tabs of the browser.
static SESSIONS: Semaphore = Semaphore::const_new(12);
/// Rehearsals at a time; more would only share the CPUs.
static TURNS: Semaphore = Semaphore::const_new(2);
/// Messages under way in either direction.
const UNDER_WAY: usize = 64;

/// `/lsp`, `/api/see`, `/api/step`.
pub fn router() -> Router<Arc<Studio>> {
    Router::new()
        .route("/lsp", get(lsp))
        .route("/api/see", post(see))
        .route("/api/step", post(step))
}

async fn lsp(State(studio): State<Arc<Studio>>, socket: WebSocketUpgrade) -> Response {
    // JSON may write every letter of a text as six.
    let socket = socket.max_message_size(6 * TEXT_MAX as usize);
    match SESSIONS.try_acquire() {
        Ok(place) => socket.on_upgrade(async move |socket| {
            serve(studio, socket).await;
            drop(place);
        }),
        Err(_) => Refused::input("too many tabs are open").into_response(),
    }
}

/// Passes messages between the browser and a session until one of them ends.
async fn serve(studio: Arc<Studio>, mut socket: WebSocket) {
    let (to_session, asked) = channel(UNDER_WAY);
    let (answers, mut answered) = channel(UNDER_WAY);
    let session = spawn_blocking(move || {
        let root = format!("file://{}/", studio.folder.path().display());
        converse(studio.language.session(), &root, asked, &answers);
    });
    loop {
        tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    if to_session.send(text.to_string()).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
            answer = answered.recv() => {
                let Some(answer) = answer else { break };
                if socket.send(Message::text(answer)).await.is_err() {
                    break;
                }
            }
        }
    }
    drop((to_session, answered));
    let _ = session.await;
}

fn converse(
    mut session: Box<dyn Session>,
    root: &str,
    mut asked: Receiver<String>,
    answers: &Sender<String>,
) {
    while let Some(message) = asked.blocking_recv() {
        let Some(message) = serde_json::from_str(&message).ok().filter(|it| stays_below(it, root))
        else {
            continue;
        };
        for answer in session.handle(message) {
            if answers.blocking_send(answer.to_string()).is_err() {
                return;
            }
        }
    }
}

/// All files that a message names are in the folder: a session reads what programs include beside them.
fn stays_below(message: &Value, root: &str) -> bool {
    let mut all = vec![message];
    while let Some(value) = all.pop() {
        match value {
            Value::Array(items) => all.extend(items),
            Value::Object(fields) => {
                let uri = fields.get("uri").and_then(Value::as_str);
                if uri.is_some_and(|uri| !is_below(uri, root)) {
                    return false;
                }
                all.extend(fields.values());
            }
            _ => {}
        }
    }
    true
}

fn is_below(uri: &str, root: &str) -> bool {
    let plain = decoded(uri);
    let rest = plain.strip_prefix(root);
    plain.starts_with("parabench:")
        || rest.is_some_and(|rest| !rest.split('/').any(|part| part == ".."))
}

/// The text behind `%41`.
fn decoded(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%');
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn see(State(studio): State<Arc<Studio>>, Json(request): Json<Request>) -> Answer {
    rehearsed(studio, request, |studio, request| studio.language.see(request)).await
}

async fn step(State(studio): State<Arc<Studio>>, Json(request): Json<Request>) -> Answer {
    rehearsed(studio, request, |studio, request| studio.language.step(request)).await
}

/// JSON, or why there is none.
type Answer = Result<([(HeaderName, &'static str); 1], String), Refused>;
type Rehearse = fn(&Studio, Request) -> Result<String, String>;

async fn rehearsed(studio: Arc<Studio>, mut request: Request, rehearse: Rehearse) -> Answer {
    // The program's place decides what it may include.
    request.name = studio.folder.place(&request.name)?;
    let _turn = TURNS.acquire().await;
    let done = spawn_blocking(move || rehearse(&studio, request)).await;
    let failed = "the rehearsal failed: this is a mistake of Parabench";
    let text = done.map_err(|_| Refused::failed(failed))?.map_err(Refused::input)?;
    Ok(([(CONTENT_TYPE, "application/json")], text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_of_the_folder_are_not_opened() {
        let root = "file:///a b/";
        let message = |uri: &str| serde_json::json!({"params": {"textDocument": {"uri": uri}}});
        for uri in ["file:///a%20b/x.ppl", "file:///a%20b/c/x..ppl", "parabench:@stress"] {
            assert!(stays_below(&message(uri), root), "{uri}");
        }
        for uri in [
            "file:///etc/x.ppl",
            "file:///a%20b/../x.ppl",
            "file:///a%20b/%2e%2e/x",
            "file:///a b",
            "x",
        ] {
            assert!(!stays_below(&message(uri), root), "{uri}");
        }
    }
}
