//! What only the leader can answer, asked of another controller: it passes the request on, once, in
//! the name of the user whom it knows. Never answers for the leader, and never passes on what was
//! passed on already: two controllers that take each other for the leader must not play ball.

use super::audited::WrittenElsewhere;
use super::origin::{Origin, PASSED_ON};
use crate::core::Core;
use axum::Extension;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::id::ControllerId;
use net::{Client, Endpoint, Identity, RefusalCode, User};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The code of a refusal for want of a leader. Nothing was done: whatever it was may be asked
/// again.
pub const NO_LEADER: &str = "no-leader";
/// A leader that does not let itself be connected to for so long may be gone.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Kept to the leader: as many as ask at once at a busy hour.
const CONNECTIONS: usize = 64;

/// What this controller is to do with a request that is the leader's to answer.
pub enum Duty {
    Answer,
    /// Pass it on to the controller at this address, `host:port`.
    PassOn(String),
    /// Refuse it: nobody is known to lead.
    Refuse,
}

/// The way to the leader.
pub struct Relay {
    id: ControllerId,
    duty: Box<dyn Fn() -> Duty + Send + Sync>,
    identity: Identity,
    /// Of the last leader, with its connections.
    last: Mutex<Option<(String, Client)>>,
}

impl Relay {
    /// For a controller that proves itself like this.
    pub fn new(core: Arc<Core>, identity: Identity) -> Self {
        let id = core.standing.borrow().id;
        Self::by(id, identity, move || match core.serves() {
            true => Duty::Answer,
            false => core.leader().map_or(Duty::Refuse, |leader| Duty::PassOn(leader.address)),
        })
    }

    fn by(
        id: ControllerId,
        identity: Identity,
        duty: impl Fn() -> Duty + Send + Sync + 'static,
    ) -> Self {
        Self { id, duty: Box::new(duty), identity, last: Mutex::default() }
    }

    /// Who asks the controller at this address.
    fn client(&self, addr: String) -> Client {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = last.as_ref().filter(|(known, _)| *known == addr) {
            return client.clone();
        }
        let endpoint = Endpoint::Tls { addr: addr.clone(), identity: self.identity.clone() };
        // Without an answer limit: waiting for a job takes as long as it takes.
        let client = Client::new(endpoint)
            .with_connect_limit(CONNECT_LIMIT)
            .with_answer_limit(None)
            .with_idle_connections(CONNECTIONS);
        *last = Some((addr, client.clone()));
        client
    }
}

/// Lets a request through at the controller that leads; another passes it on to that one.
pub async fn answers_or_passes_on(
    State(relay): State<Arc<Relay>>,
    request: Request,
    next: Next,
) -> Response {
    let was_passed_on = request.headers().contains_key(PASSED_ON);
    let leader = match (relay.duty)() {
        Duty::Answer => return next.run(request).await,
        Duty::PassOn(addr) if !was_passed_on => relay.client(addr),
        Duty::PassOn(_) | Duty::Refuse => return no_leader().into_response(),
    };
    let (mut parts, body) = request.into_parts();
    let user = match User::from_request_parts(&mut parts, &()).await {
        Ok(user) => user,
        Err(error) => return error.into_response(),
    };
    let origin = Origin::of(&parts.extensions, &parts.headers);
    parts.headers.insert(PASSED_ON, origin.header(relay.id));
    let answer = net::forward(Request::from_parts(parts, body), &leader, &user).await;
    // A refusal of this process: the leader was not reached, or its answer is lost.
    match answer.extensions().get::<RefusalCode>() {
        Some(_) => answer,
        None => (Extension(WrittenElsewhere), answer).into_response(),
    }
}

/// Nobody leads, as far as this controller knows.
pub fn no_leader() -> net::Refusal {
    let message = "no controller leads at the moment: an election takes a second or two";
    let hint = "try again in a moment; if it lasts, more than half of the controllers must run: \
                see `kantctl status` on each of them";
    net::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, NO_LEADER, message).hint(hint)
}

#[cfg(test)]
mod tests;
