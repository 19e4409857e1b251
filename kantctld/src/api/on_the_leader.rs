//! Requests that only the own socket of the controller that leads takes: who votes, who leads, a
//! copy of everything, and the configuration. Over the network a program that has the cluster's key
//! can speak as a controller, and for any operator: that must not be enough for these. Never passed
//! on, for the same reason.

use super::leader::no_leader;
use crate::core::Core;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::Caller;
use std::sync::Arc;

/// Lets a request through that a process on the leader's host makes; says of others where to ask.
pub async fn check(
    State(core): State<Arc<Core>>,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    match caller {
        Caller::Local { .. } if core.serves() => next.run(request).await,
        Caller::Local { .. } if core.leader().is_none() => no_leader().into_response(),
        Caller::Local { .. } | Caller::Peer(_) => elsewhere(&core).into_response(),
    }
}

fn elsewhere(core: &Core) -> net::Refusal {
    let standing = core.standing.borrow();
    let leader = standing.leader.and_then(|id| Some((id, standing.members.known.get(&id)?)));
    let on = match leader {
        Some((id, member)) => {
            format!("that of controller {id} ({}, {})", member.name, member.address)
        }
        None => "which none does at the moment".to_owned(),
    };
    let message = format!("ask on the host of the leading controller, by its own socket: {on}");
    net::Refusal::new(StatusCode::CONFLICT, "ask_on_the_leader", message)
        .hint("`kantctl admin controller status` shows who leads; --socket names its socket there")
}
