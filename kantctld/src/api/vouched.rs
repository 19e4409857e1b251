//! Requests that a node passes on in a user's name: refused where it may not speak for that user,
//! before anything else is looked at. The leader looks again at what another controller passes on:
//! that one may be configured otherwise.

use super::origin::Origin;
use crate::core::Core;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::Caller;
use std::sync::Arc;

/// Lets a request through, unless it comes from a node that may not speak for its user, directly or
/// by way of another controller.
pub async fn check(
    State(core): State<Arc<Core>>,
    caller: Caller,
    origin: Origin,
    request: Request,
    next: Next,
) -> Response {
    let is_voucher = request.headers().contains_key(net::USER_HEADER);
    if let Some(node) = origin.voucher().filter(|_| is_voucher) {
        let user = net::caller_identity(&caller, request.headers());
        let checked = user.map_err(net::Refusal::from);
        if let Err(refusal) = checked.and_then(|user| core.access().check_voucher(node, user.uid)) {
            return refusal.into_response();
        }
    }
    next.run(request).await
}
