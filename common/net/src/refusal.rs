//! The error answer of a server: a code for programs, a sentence for users, and a hint for what to
//! do next.

use std::fmt;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

/// A server's error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// Short and stable, for programs: `job-unknown`.
    pub code: String,
    /// One sentence for users: what failed, on what.
    pub message: String,
    /// What to do next, if the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// An error with its HTTP status, for handlers to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub error: ApiError,
}

/// The JSON around an [`ApiError`]: `{"error": {...}}`.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErrorBody {
    pub error: ApiError,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(status: StatusCode, code: impl Into<String>, message: impl Into<String>) -> Self {
        let error = ApiError { code: code.into(), message: message.into(), hint: None };
        Self { status, error }
    }

    /// The same refusal with a hint for what to do next.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.error.hint = Some(hint.into());
        self
    }
}

/// The code of a refusal, as an extension of its response, for middleware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCode(pub String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = Extension(RefusalCode(self.error.code.clone()));
        (self.status, code, Json(ErrorBody { error: self.error })).into_response()
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
