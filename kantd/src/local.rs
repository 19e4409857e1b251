//! kantctl's way in on this node: a local socket whose callers the kernel names. Whatever is asked
//! there is passed on to a controller in the caller's name. Never answers a question itself.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use net::{Client, Endpoint, User};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The controller that this node is in session with, and so the one that leads.
pub type Answering = watch::Receiver<Option<Endpoint>>;

/// A controller that does not let itself be connected to for so long is passed over.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Each costs a TLS handshake, and one command of a user's may ask sixteen things at once.
const IDLE_CONNECTIONS: usize = 64;

/// A client for each controller.
#[derive(Debug)]
struct Controllers {
    configured: Vec<Client>,
    answering: Answering,
    /// Of the last session, which may be with a controller that is not configured.
    last: Mutex<Option<Client>>,
}

/// The router for the local socket.
pub fn router(controllers: &[Endpoint], answering: Answering) -> Router {
    let configured = controllers.iter().map(client).collect();
    let controllers = Controllers { configured, answering, last: Mutex::default() };
    Router::new().fallback(pass_on).with_state(Arc::new(controllers))
}

/// Without an answer limit: `kantctl wait` and `logs --follow` take as long as they take.
fn client(endpoint: &Endpoint) -> Client {
    Client::new(endpoint.clone())
        .with_connect_limit(CONNECT_LIMIT)
        .with_answer_limit(None)
        .with_idle_connections(IDLE_CONNECTIONS)
}

async fn pass_on(State(to): State<Arc<Controllers>>, user: User, request: Request) -> Response {
    net::forward(request, &to.choose().await, &user).await
}

impl Controllers {
    /// The one in session; else the first that lets itself be connected to, for it passes on to
    /// the leader what it is asked. If there is none, the first: why it cannot be had is the
    /// answer.
    async fn choose(&self) -> Client {
        let in_session = self.in_session();
        let all = || in_session.iter().chain(&self.configured);
        for client in all() {
            if client.connect().await.is_ok() {
                return client.clone();
            }
        }
        all().next().cloned().expect("kantd does not start without a controller")
    }

    fn in_session(&self) -> Option<Client> {
        let answering = self.answering.borrow().clone()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |client: &&Client| client.endpoint().to_string() == answering.to_string();
        Some(match last.as_ref().filter(is_it) {
            Some(known) => known.clone(),
            None => last.insert(client(&answering)).clone(),
        })
    }
}
