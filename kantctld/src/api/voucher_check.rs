//! The check of requests that a node forwards for a user: refused if the node may not vouch for
//! that user. The leader repeats the check, because another controller may be configured
//! differently.

use super::origin::Origin;
use crate::core::Core;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::Caller;
use std::sync::Arc;

/// Passes a request on unless it comes, directly or through another controller, from a node that
/// may not vouch for the user.
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
