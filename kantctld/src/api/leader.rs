//! Forwarding to the leader: a controller that does not lead forwards a request once, for the user
//! that it authenticated. A forwarded request is not forwarded again, because two controllers may
//! each take the other for the leader.

use super::audited::AuditedElsewhere;
use super::origin::{FORWARDED, Origin};
use crate::core::Core;
use axum::Extension;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::id::ControllerId;
use common::sync::Mutex;
use net::{Client, Endpoint, Identity, RefusalCode, User};
use std::sync::Arc;
use std::time::Duration;

/// The code of a refusal because there is no leader. Nothing was done, so the request may be
/// repeated.
pub const NO_LEADER: &str = "no-leader";
/// A leader that does not accept a connection within this time may be gone.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Idle connections kept to the leader: about the number of concurrent requests at a busy time.
const CONNECTIONS: usize = 64;

/// What to do with a request that only the leader can answer.
pub enum Duty {
    Answer,
    /// Forward it to the controller at this address, `host:port`.
    Forward(String),
    /// Refuse it: no leader is known.
    Refuse,
}

/// The forwarding of requests to the leader.
pub struct Relay {
    id: ControllerId,
    duty: Box<dyn Fn() -> Duty + Send + Sync>,
    identity: Identity,
    /// The address of the last leader, and the client with its connections.
    last: Mutex<Option<(String, Client)>>,
}

impl Relay {
    /// For a controller with this identity.
    pub fn new(core: Arc<Core>, identity: Identity) -> Self {
        let id = core.standing.borrow().id;
        Self::with_duty(id, identity, move || match core.is_serving() {
            true => Duty::Answer,
            false => core.leader().map_or(Duty::Refuse, |leader| Duty::Forward(leader.address)),
        })
    }

    fn with_duty(
        id: ControllerId,
        identity: Identity,
        duty: impl Fn() -> Duty + Send + Sync + 'static,
    ) -> Self {
        Self { id, duty: Box::new(duty), identity, last: Mutex::default() }
    }

    /// The client for the controller at this address.
    fn client(&self, addr: String) -> Client {
        let mut last = self.last.lock();
        if let Some((_, client)) = last.as_ref().filter(|(known, _)| *known == addr) {
            return client.clone();
        }
        let endpoint = Endpoint::Tls { addr: addr.clone(), identity: self.identity.clone() };
        // Without an answer limit: a request that waits for a job may take any time.
        let client = Client::new(endpoint)
            .with_connect_limit(CONNECT_LIMIT)
            .with_answer_limit(None)
            .with_idle_connections(CONNECTIONS);
        *last = Some((addr, client.clone()));
        client
    }
}

/// Handles a request here if this controller leads, else forwards it.
pub async fn answer_or_forward(
    State(relay): State<Arc<Relay>>,
    request: Request,
    next: Next,
) -> Response {
    let was_forwarded = request.headers().contains_key(FORWARDED);
    let leader = match (relay.duty)() {
        Duty::Answer => return next.run(request).await,
        Duty::Forward(addr) if !was_forwarded => relay.client(addr),
        Duty::Forward(_) | Duty::Refuse => return no_leader_refusal().into_response(),
    };
    let (mut parts, body) = request.into_parts();
    let user = match User::from_request_parts(&mut parts, &()).await {
        Ok(user) => user,
        Err(error) => return error.into_response(),
    };
    let origin = Origin::of(&parts.extensions, &parts.headers);
    parts.headers.insert(FORWARDED, origin.header(relay.id));
    let answer = net::forward(Request::from_parts(parts, body), &leader, &user).await;
    // A refusal made here: the leader was not reached, or its answer was lost.
    match answer.extensions().get::<RefusalCode>() {
        Some(_) => answer,
        None => (Extension(AuditedElsewhere), answer).into_response(),
    }
}

/// The refusal when no leader is known.
pub fn no_leader_refusal() -> net::Refusal {
    let message = "no controller leads at the moment: an election takes a second or two";
    let hint = "try again in a moment; if it persists, check that more than half of the \
                controllers run: see `kantctl status` on each of them";
    net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, NO_LEADER, message).with_hint(hint)
}

#[cfg(test)]
mod tests;
