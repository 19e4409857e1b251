//! The HTTP port for programs and browsers: the API with tokens, the state of this controller, and
//! the web page.
//!
//! The web page uses the API of this controller as a program does, so that limits, rights, the
//! audit log and forwarding to the leader are the same for both.

mod bearer;
mod health;
mod problem;
#[cfg(test)]
mod tests;

use crate::core::Core;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use std::sync::Arc;

/// Everything that is served over HTTP; `api` is the router of the API.
pub fn router(core: Arc<Core>, api: Router) -> Router {
    let programs = api
        .layer(from_fn_with_state(core.clone(), bearer::identify))
        .layer(from_fn(problem::problem_details));
    Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .with_state(core)
        .fallback_service(programs)
}
