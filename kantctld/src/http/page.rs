//! The web page: who is signed in, the requests to the API, and the answers as HTML.

mod action;
mod api_client;
mod asset;
mod output;
mod session;
#[cfg(test)]
mod tests;
mod views;

pub use session::cookie as session_cookie;

use crate::core::Core;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use axum::http::header::{X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use std::sync::Arc;

/// A form of a page: a token, or a proof of its session.
const FORM_BYTES_MAX: usize = 16 << 10;
/// Nothing but files of this controller, and no inline script or style.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// What all pages share.
pub struct Site {
    core: Arc<Core>,
    /// The API, without the check of tokens of other requests.
    api: Router,
    /// Cookies are for TLS only.
    is_secure: bool,
}

pub fn router(core: Arc<Core>, api: Router, is_secure: bool) -> Router {
    let site = Arc::new(Site { core, api, is_secure });
    let pages = Router::new()
        .route("/", get(views::cluster))
        .route("/jobs", get(views::queue))
        .route("/jobs/{key}", get(views::job))
        .route("/jobs/{key}/{verb}", post(action::act))
        .route("/shares", get(views::shares))
        .route("/services", get(views::services))
        .route("/nodes", get(views::nodes))
        .route("/nodes/{name}", get(views::node))
        .route("/sign-in", get(session::sign_in_form).post(session::sign_in))
        .route("/sign-out", post(session::sign_out))
        .route("/assets/{name}", get(asset::show))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn(set_security_headers));
    pages.with_state(site)
}

/// Sets the headers that keep other sites, and texts of users, out of the page.
async fn set_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let fixed: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let own = HeaderValue::from_static("no-store");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(own);
    response
}
