//! Refusals: the answer to a request that cannot be done.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// A request that is refused or has failed.
#[derive(Debug)]
pub struct Refused {
    /// The kind of refusal.
    pub status: StatusCode,
    /// The mistake and its fix, for people.
    pub message: String,
}

impl Refused {
    /// A refusal of this kind.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Refused {
        Refused { status, message: message.into() }
    }

    /// The request was wrong.
    pub fn input(message: impl Into<String>) -> Refused {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// The request was right, but something failed.
    pub fn failed(message: impl Into<String>) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "error": self.message }))).into_response()
    }
}
