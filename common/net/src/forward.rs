//! The forwarding of a local user's request to a controller, as kantd does on every node.
//!
//! The user is identified by the kernel on the local socket; the client's own header is dropped.
//! Bodies stream in both directions, and requests are not retried.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use common::causes::with_causes;

use crate::caller::{USER_HEADER, User, user_header};
use crate::client::{Client, ClientError};
use crate::refusal::Refusal;

/// Headers of one connection rather than of the message (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Forwards `request` for `user`, and returns the response.
///
/// Without a response, returns the usual error JSON: 503 if the controller cannot be reached, 504
/// if it does not answer in time, 502 otherwise. Long answers need a client without an answer
/// limit.
pub async fn forward(request: Request, client: &Client, user: &User) -> Response {
    let request = match prepare(request, user) {
        Ok(request) => request,
        Err(refusal) => return refusal.into_response(),
    };
    match client.send(request).await {
        Ok(mut response) => {
            strip_connection_headers(response.headers_mut());
            response
        }
        Err(error) => refusal(&error).into_response(),
    }
}

fn prepare(request: Request, user: &User) -> Result<axum::http::Request<Body>, Refusal> {
    let (mut head, body) = request.into_parts();
    strip_connection_headers(&mut head.headers);
    head.headers.remove(USER_HEADER);
    let voucher = HeaderValue::from_str(&user_header(user))
        .expect("digits, letters and colons are a header value");
    head.headers.insert(USER_HEADER, voucher);
    // Only the path is forwarded, not the host: a client may send an absolute URI.
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse::<Uri>().map_err(|_| {
        Refusal::new(StatusCode::BAD_REQUEST, "path-malformed", "the path cannot be forwarded")
    })?;
    head.version = axum::http::Version::HTTP_11;
    Ok(axum::http::Request::from_parts(head, body))
}

fn strip_connection_headers(headers: &mut HeaderMap) {
    // A Connection header lists further headers of the connection.
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&listed) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

fn refusal(error: &ClientError) -> Refusal {
    let (status, code) = match error {
        ClientError::Unreachable { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "controller-unreachable")
        }
        ClientError::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, "controller-silent"),
        _ => (StatusCode::BAD_GATEWAY, "controller-lost"),
    };
    Refusal::new(status, code, with_causes(error))
}
