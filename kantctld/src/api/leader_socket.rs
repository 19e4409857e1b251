//! Requests that are accepted only on the leader's local socket: changes of members and leadership,
//! backup, and reload. A program with the cluster key can act as a controller over the network, and
//! for any operator, which must not be enough for these. They are not forwarded for the same
//! reason.

use super::leader::no_leader_refusal;
use crate::core::Core;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::Caller;
use std::sync::Arc;

/// Passes on requests from a process on the leader's host; refuses others with where to ask.
pub async fn check(
    State(core): State<Arc<Core>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    match caller {
        Caller::Local { .. } if core.is_serving() => next.run(request).await,
        Caller::Local { .. } if core.leader().is_none() => no_leader_refusal().into_response(),
        _ => not_leader_refusal(&core).into_response(),
    }
}

fn not_leader_refusal(core: &Core) -> net::Refusal {
    let standing = core.standing.borrow();
    let leader = standing.leader.and_then(|id| Some((id, standing.members.known.get(&id)?)));
    let on = match leader {
        Some((id, member)) => {
            format!("that of controller {id} ({}, {})", member.name, member.address)
        }
        None => "no controller leads at the moment".to_owned(),
    };
    let message = format!("ask on the leader's host, on its local socket: {on}");
    net::Refusal::new(StatusCode::CONFLICT, "ask_on_the_leader", message).with_hint(
        "`kantctl admin controller status` shows the leader; give its socket with --socket",
    )
}
