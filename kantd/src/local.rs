//! kantctl's way in on this node: a local socket whose callers the kernel names. Whatever is asked
//! there is passed on to the controller in the caller's name. Never answers a question itself.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use net::{Client, Endpoint, User};
use std::sync::Arc;
use tokio::sync::watch;

/// Which of the configured controllers to ask: the one that answered last, by position.
pub type Answering = watch::Receiver<usize>;

/// A client for each controller, and which one to use now.
#[derive(Debug, Clone)]
struct Controllers {
    clients: Arc<[Client]>,
    answering: Answering,
}

/// The router for the local socket.
pub fn router(controllers: &[Endpoint], answering: Answering) -> Router {
    // Without an answer limit: `kantctl wait` and `logs --follow` take as long as they take.
    let client = |endpoint: &Endpoint| Client::new(endpoint.clone()).with_answer_limit(None);
    let clients = controllers.iter().map(client).collect();
    Router::new().fallback(pass_on).with_state(Controllers { clients, answering })
}

async fn pass_on(State(to): State<Controllers>, user: User, request: Request) -> Response {
    let position = *to.answering.borrow();
    net::forward(request, &to.clients[position], &user).await
}
