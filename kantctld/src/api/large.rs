//! Large requests: refused by what their head says where they are too large, and otherwise read a
//! few at a time. Never reads one.

use super::look;
use crate::core::Core;
use axum::body::HttpBody as _;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::User;
use std::sync::Arc;

/// A script may have 4 MiB and an environment 1 MiB; as JSON with escapes that may double.
pub const BODY_BYTES_MAX: usize = 16 << 20;
/// Whatever is smaller costs no more than a connection does.
const SMALL_BYTES: u64 = 64 << 10;

/// The refusal of what is too large.
pub fn too_large() -> net::Refusal {
    let message = format!("the request is too large: {} MiB are the limit", BODY_BYTES_MAX >> 20);
    let hint = "put data into files and name those in the job; send many jobs in several batches";
    net::Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).hint(hint)
}

/// Lets small requests through, and large ones in turn.
pub async fn in_turn(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    // Without a length it comes in pieces, as many as it likes.
    let length = request.body().size_hint().exact();
    if length.is_some_and(|bytes| bytes <= SMALL_BYTES) {
        return next.run(request).await;
    }
    if length.is_some_and(|bytes| bytes > BODY_BYTES_MAX as u64) {
        return too_large().into_response();
    }
    let (mut parts, body) = request.into_parts();
    let user = match User::from_request_parts(&mut parts, &()).await {
        Ok(user) => user,
        Err(error) => return error.into_response(),
    };
    match look::turn(&core.places.requests, user.uid).await {
        Ok(_turn) => next.run(Request::from_parts(parts, body)).await,
        Err(failure) => failure.into_response(),
    }
}
