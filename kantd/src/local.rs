//! The local socket for kantctl on this node, whose callers the kernel identifies. Requests are
//! forwarded to a controller in the caller's name.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use common::sync::Mutex;
use net::{Client, Endpoint, User};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The controller with which this node has a session, which is the leader.
pub type SessionController = watch::Receiver<Option<Endpoint>>;

/// A controller that cannot be connected to in this time is skipped.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Idle connections kept: each costs a TLS handshake, and one command may send sixteen requests at
/// once.
const IDLE_CONNECTIONS: usize = 64;

#[derive(Debug)]
struct Controllers {
    configured: Vec<Client>,
    session_controller: SessionController,
    /// The client of the last session, whose controller may not be configured.
    last: Mutex<Option<Client>>,
}

pub fn router(controllers: &[Endpoint], session_controller: SessionController) -> Router {
    let configured = controllers.iter().map(client).collect();
    let controllers = Controllers { configured, session_controller, last: Mutex::default() };
    Router::new().fallback(forward).with_state(Arc::new(controllers))
}

/// A client without a time limit for answers: `kantctl wait` and `logs --follow` may take any time.
fn client(endpoint: &Endpoint) -> Client {
    Client::new(endpoint.clone())
        .with_connect_limit(CONNECT_LIMIT)
        .with_answer_limit(None)
        .with_idle_connections(IDLE_CONNECTIONS)
}

async fn forward(State(to): State<Arc<Controllers>>, user: User, request: Request) -> Response {
    net::forward(request, &to.choose().await, &user).await
}

impl Controllers {
    /// The controller of the session; else the first that can be connected to, which forwards to
    /// the leader; else the first, whose connection error is then the answer.
    async fn choose(&self) -> Client {
        let in_session = self.session_client();
        let all = || in_session.iter().chain(&self.configured);
        for client in all() {
            if client.connect().await.is_ok() {
                return client.clone();
            }
        }
        all().next().cloned().expect("kantd does not start without a controller")
    }

    fn session_client(&self) -> Option<Client> {
        let session_controller = self.session_controller.borrow().clone()?;
        let mut last = self.last.lock();
        let is_it =
            |client: &&Client| client.endpoint().to_string() == session_controller.to_string();
        Some(match last.as_ref().filter(is_it) {
            Some(known) => known.clone(),
            None => last.insert(client(&session_controller)).clone(),
        })
    }
}
