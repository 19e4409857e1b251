//! Requests of a page to the API of this controller, within this process.

use super::Site;
use super::session::Session;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use net::{ApiError, Caller, ErrorBody, Refusal};
use serde::de::DeserializeOwned;
use tower_service::Service as _;

/// Longer than any answer that a page asks for.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The answer of the API as this type.
///
/// # Errors
/// The refusal of the API.
pub async fn get<T: DeserializeOwned>(
    site: &Site,
    session: &Session,
    path: &str,
) -> Result<T, Refusal> {
    let bytes = bytes(site, session, Method::GET, path).await?;
    // Own types are always read back.
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("failed to read an answer of the API: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "answer_unreadable", message)
    })
}

/// The answer of the API as bytes.
///
/// # Errors
/// The refusal of the API.
pub async fn bytes(
    site: &Site,
    session: &Session,
    method: Method,
    path: &str,
) -> Result<Bytes, Refusal> {
    let failed = |what: &str| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "page_failed", format!("failed to {what}"))
    };
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(|_| failed("ask the API: the path is invalid"))?;
    let caller = Caller::Program(session.program.clone());
    request.extensions_mut().insert(ConnectInfo(caller));
    let Ok(response) = site.api.clone().call(request).await;
    let status = response.status();
    let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await;
    let body = body.map_err(|_| failed("read the answer of the API: it is too long"))?;
    match status.is_success() {
        true => Ok(body),
        false => Err(refusal(status, &body)),
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> Refusal {
    let error = serde_json::from_slice(body).map(|ErrorBody { error }| error);
    let error = error.unwrap_or_else(|_| ApiError {
        code: format!("http_{}", status.as_u16()),
        message: String::from_utf8_lossy(body).into_owned(),
        hint: None,
    });
    Refusal { status, error }
}

/// The page about a refusal.
pub fn failure_page(session: &Session, refusal: &Refusal) -> Response {
    let Refusal { status, error } = refusal;
    let page = page::failure(&session.frame(), &error.message, error.hint.as_deref());
    (*status, Html(page)).into_response()
}
