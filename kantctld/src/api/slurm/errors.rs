//! Refusals of the API in Slurm's form: the frame of every answer, with an entry in `errors`.

use super::path;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use net::ErrorBody;
use serde_json::{Map, Value};
use slurm_json::Version;
use slurm_json::failure::entry;
use slurm_json::frame::{Asked, answer_with_errors};

/// Longer than any error of ours.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// Rewrites the refusals of Slurm's paths. An answer that has Slurm's form already is passed on:
/// another controller made it.
pub async fn in_slurms_form(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !path::is_slurms(path) {
        return next.run(request).await;
    }
    // A version that is not served gets the form of the latest.
    let version = path::version(path).unwrap_or(Version::V45);
    let response = next.run(request).await;
    let status = response.status();
    match status.is_client_error() || status.is_server_error() {
        true => rewrite_in_slurms_form(version, status, response).await,
        false => response,
    }
}

async fn rewrite_in_slurms_form(
    version: Version,
    status: StatusCode,
    response: Response,
) -> Response {
    let (mut parts, body) = response.into_parts();
    // A body that cannot be read is one of a connection that has failed.
    let bytes = to_bytes(body, ERROR_BYTES_MAX).await.unwrap_or_default();
    if is_slurms_form(&bytes) {
        return (parts, bytes).into_response();
    }
    let entry = match serde_json::from_slice(&bytes) {
        Ok(ErrorBody { error }) => entry(&error.code, &error.message, error.hint.as_deref()),
        // A refusal of the HTTP library, as text.
        Err(_) => entry(
            &format!("http_{}", status.as_u16()),
            &match String::from_utf8_lossy(&bytes).trim() {
                "" => status.canonical_reason().unwrap_or("the request failed").to_owned(),
                text => text.to_owned(),
            },
            None,
        ),
    };
    let whole = answer_with_errors(version, &Asked::default(), Map::new(), &[entry], &[]);
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(CONTENT_TYPE);
    let mut response = (parts, whole.to_string()).into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn is_slurms_form(bytes: &[u8]) -> bool {
    let read = serde_json::from_slice::<Map<String, Value>>(bytes);
    read.is_ok_and(|fields| fields.get("errors").is_some_and(Value::is_array))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    async fn of(status: StatusCode, body: &str) -> Value {
        let mut response = Response::new(Body::from(body.to_owned()));
        *response.status_mut() = status;
        let response = rewrite_in_slurms_form(Version::V40, status, response).await;
        assert_eq!(
            (response.status(), &response.headers()[CONTENT_TYPE]),
            (status, &HeaderValue::from_static("application/json"),)
        );
        let bytes = to_bytes(response.into_body(), ERROR_BYTES_MAX).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[tokio::test]
    async fn a_refusal_is_an_entry_of_errors() {
        let body = r#"{"error":{"code":"unknown_job","message":"there is no job 7","hint":"h"}}"#;
        let whole = of(StatusCode::NOT_FOUND, body).await;
        assert_eq!(whole["errors"][0]["error_number"], 2017);
        assert_eq!(whole["errors"][0]["description"], "there is no job 7; h");
        assert_eq!(whole["warnings"], serde_json::json!([]));
        let plain = of(StatusCode::METHOD_NOT_ALLOWED, "").await;
        assert_eq!(plain["errors"][0]["description"], "Method Not Allowed");
    }

    #[tokio::test]
    async fn an_answer_in_slurms_form_is_passed_on() {
        let mut response = Response::new(Body::from(r#"{"errors":[1]}"#));
        *response.status_mut() = StatusCode::NOT_FOUND;
        let passed = rewrite_in_slurms_form(Version::V40, StatusCode::NOT_FOUND, response).await;
        let bytes = to_bytes(passed.into_body(), ERROR_BYTES_MAX).await.unwrap();
        assert_eq!(&bytes[..], br#"{"errors":[1]}"#);
    }
}
