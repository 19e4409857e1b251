//! The check of a request's caller. A host without a certificate may do no more than use an
//! invitation; the certificate of a node must not be revoked; a program needs a token with the
//! scope of the route; and a request that a node forwards for a user is refused if the node may not
//! vouch for that user. The leader repeats the checks, because another controller may be configured
//! differently or have an older state.

use super::origin::Origin;
use super::token_check;
use super::{CONTROLLERS_PATH, ENROL_PATH};
use crate::core::Core;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::id::{NodeName, Uid};
use net::{Caller, CallerError, Refusal};
use state::enrolment::Invalid;
use std::sync::Arc;

/// Passes a request on unless its caller may not make it.
pub async fn check(
    State(core): State<Arc<Core>>,
    caller: Caller,
    origin: Origin,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = match &caller {
        Caller::Stranger(_) => check_stranger(&request),
        _ => Ok(()),
    };
    // Also of a request that another controller forwards, whose state may be older.
    let checked = checked.and_then(|()| match origin.certificate() {
        Some((node, enrolment)) => check_certificate(&core, node, enrolment),
        None => Ok(()),
    });
    let checked = checked
        .and_then(|()| token_check::check(&core, &caller, &origin, &request))
        .and_then(|has_roles| check_voucher(&core, &caller, &origin, &request).map(|()| has_roles));
    // Root on a node can make it vouch for anyone.
    let by_node = origin.vouching_name().is_some() && !core.access().vouched_keep_roles();
    match checked {
        Ok(has_roles) => {
            if by_node || !has_roles {
                net::ignore_roles(request.headers_mut());
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

fn check_stranger(request: &Request) -> Result<(), Refusal> {
    let uses_invitation = *request.method() == Method::POST
        && [CONTROLLERS_PATH, ENROL_PATH].contains(&request.uri().path());
    if uses_invitation { Ok(()) } else { Err(CallerError::Stranger.into()) }
}

/// Checks that a node's certificate is the valid one.
///
/// # Errors
/// A refusal that says since when it is not.
pub fn check_certificate(core: &Core, name: &str, enrolment: u32) -> Result<(), Refusal> {
    let name = NodeName::new(name)
        .map_err(|error| Refusal::new(StatusCode::FORBIDDEN, "bad_id", error.to_string()))?;
    let message = match core.state.read().check_certificate(&name, enrolment) {
        Ok(()) => return Ok(()),
        Err(Invalid::Revoked(revoked)) => {
            format!("the certificate of node {name} was revoked at {}", revoked.at)
        }
        Err(Invalid::Superseded(_)) => {
            format!("the certificate of node {name} is no longer valid: it was enrolled again")
        }
    };
    let hint = format!(
        "if this is the right machine, an operator runs `kantctl admin node invite {name}`, and \
         then root runs `kantd join` on it and restarts kantd"
    );
    Err(Refusal::new(StatusCode::FORBIDDEN, "certificate_revoked", message).with_hint(hint))
}

fn check_voucher(
    core: &Core,
    caller: &Caller,
    origin: &Origin,
    request: &Request,
) -> Result<(), Refusal> {
    let is_voucher = request.headers().contains_key(net::USER_HEADER);
    let Some(node) = origin.vouching_name().filter(|_| is_voucher) else { return Ok(()) };
    let user = net::caller_identity(caller, request.headers())?;
    let has_job = || {
        let state = core.state.read();
        NodeName::new(node).is_ok_and(|node| state.has_job_on(&node, Uid(user.uid)))
    };
    core.access().check_voucher(node, user.uid, has_job)
}
