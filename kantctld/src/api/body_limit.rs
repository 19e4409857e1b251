//! The limit on large requests: refused by their declared length if too large, else admitted a few
//! at a time.

use crate::core::Core;
use axum::body::HttpBody as _;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::User;
use std::sync::Arc;

/// A script may have 4 MiB and an environment 1 MiB, and JSON escapes may double that.
pub const BODY_BYTES_MAX: usize = 16 << 20;
/// Smaller requests cost no more than a connection.
const SMALL_BYTES: u64 = 64 << 10;

/// The refusal of a request that is too large.
pub fn too_large_refusal() -> net::Refusal {
    let message = format!("the request is too large: the limit is {} MiB", BODY_BYTES_MAX >> 20);
    let hint = "put data into files and name these in the job; send many jobs in several batches";
    net::Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).with_hint(hint)
}

/// Passes small requests on; large ones wait for a permit.
pub async fn limit_body(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    // A chunked body has no length and may be of any size.
    let length = request.body().size_hint().exact();
    if length.is_some_and(|bytes| bytes <= SMALL_BYTES) {
        return next.run(request).await;
    }
    if length.is_some_and(|bytes| bytes > BODY_BYTES_MAX as u64) {
        return too_large_refusal().into_response();
    }
    let (mut parts, body) = request.into_parts();
    let user = match User::from_request_parts(&mut parts, &()).await {
        Ok(user) => user,
        Err(error) => return error.into_response(),
    };
    match core.admission.requests.acquire(user.uid).await {
        Ok(_permit) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal.into_response(),
    }
}
