//! The HTTP port for programs and browsers: the API with tokens, the state of this controller, and
//! the web page.
//!
//! The web page uses the API of this controller as a program does, so that limits, rights, the
//! audit log and forwarding to the leader are the same for both.

mod bearer;
mod health;
mod metrics;
mod problem;

mod page;

#[doc(hidden)]
pub use bearer::bearer;
#[doc(hidden)]
pub use page::session_cookie;

#[cfg(test)]
mod tests;

use crate::api::in_slurms_form;
use crate::core::Core;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use std::sync::Arc;

/// Everything that is served over HTTP; `api` is the router of the API. `is_secure`: over TLS.
pub fn router(core: Arc<Core>, api: Router, is_secure: bool) -> Router {
    let pages = page::router(core.clone(), api.clone(), is_secure);
    let programs = api
        .layer(from_fn_with_state(core.clone(), bearer::identify))
        .layer(from_fn(problem::problem_details))
        .layer(from_fn(in_slurms_form));
    let metrics = metrics::Metrics { core: core.clone(), last: Arc::default() };
    Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .with_state(core)
        // Open, as a program that reads it may have no token yet.
        .route("/v1/openapi.json", get(crate::api::openapi))
        .route("/metrics", get(metrics::show).with_state(metrics))
        .merge(pages)
        .fallback_service(programs)
}
