//! Requests that a node passes on in a user's name: refused where it may not speak for that user,
//! before anything else is looked at.

use crate::core::Core;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::{Caller, Role};
use std::sync::Arc;

/// Lets a request through, unless it comes from a node that may not speak for its user. Controllers
/// pass on what they have let through themselves.
pub async fn check(
    State(core): State<Arc<Core>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    let is_voucher = request.headers().contains_key(net::USER_HEADER);
    if is_voucher && matches!(caller, Caller::Peer(Role::Node(_))) {
        let user = net::caller_identity(&caller, request.headers());
        let checked = user.map_err(net::Refusal::from);
        if let Err(refusal) = checked.and_then(|user| core.access().check_voucher(&user)) {
            return refusal.into_response();
        }
    }
    next.run(request).await
}
