//! What is answered when a request cannot be done.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// A request that is refused or has failed.
#[derive(Debug)]
pub struct Refused {
    /// What kind of refusal it is.
    pub status: StatusCode,
    /// What is wrong, and the fix.
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
