//! Errors in the form that HTTP clients know: `application/problem+json`.
//! Source: RFC 9457.

use crate::api::is_slurms;
use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::wire::api::Problem;
use net::{ApiError, ErrorBody};

/// Longer than any error of ours.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// Rewrites the errors of the API, except those of Slurm's paths, which have Slurm's form.
pub async fn problem_details(request: Request, next: Next) -> Response {
    if is_slurms(request.uri().path()) {
        return next.run(request).await;
    }
    let response = next.run(request).await;
    let status = response.status();
    match status.is_client_error() || status.is_server_error() {
        true => rewrite_as_problem(status, response).await,
        false => response,
    }
}

async fn rewrite_as_problem(status: StatusCode, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // A body that cannot be read is one of a connection that has failed.
    let bytes = to_bytes(body, ERROR_BYTES_MAX).await.unwrap_or_default();
    let problem = problem(status, &bytes);
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(CONTENT_TYPE);
    let mut response = (parts, Json(problem)).into_response();
    let content_type = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

fn problem(status: StatusCode, body: &[u8]) -> Problem {
    let error = match serde_json::from_slice(body) {
        Ok(ErrorBody { error }) => error,
        // A refusal of the HTTP library, as text.
        Err(_) => ApiError {
            code: format!("http_{}", status.as_u16()),
            message: String::from_utf8_lossy(body).into_owned(),
            hint: None,
        },
    };
    Problem {
        r#type: "about:blank".to_owned(),
        title: status.canonical_reason().unwrap_or("error").to_owned(),
        status: status.as_u16(),
        detail: error.message,
        code: error.code,
        hint: error.hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    async fn of(status: StatusCode, body: &str) -> (HeaderValue, serde_json::Value) {
        let mut response = Response::new(Body::from(body.to_owned()));
        *response.status_mut() = status;
        let response = rewrite_as_problem(status, response).await;
        assert_eq!(response.status(), status);
        let kind = response.headers()[CONTENT_TYPE].clone();
        let bytes = to_bytes(response.into_body(), ERROR_BYTES_MAX).await.unwrap();
        (kind, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn an_error_keeps_its_code_its_sentence_and_its_hint() {
        let body = r#"{"error":{"code":"c","message":"m","hint":"h"}}"#;
        let (kind, problem) = of(StatusCode::NOT_FOUND, body).await;
        assert_eq!(kind, "application/problem+json");
        let expected = serde_json::json!({
            "type": "about:blank", "title": "Not Found", "status": 404,
            "detail": "m", "code": "c", "hint": "h"
        });
        assert_eq!(problem, expected);
    }

    #[tokio::test]
    async fn a_refusal_of_the_library_has_a_code_as_well() {
        let (_, problem) = of(StatusCode::METHOD_NOT_ALLOWED, "").await;
        assert_eq!((&problem["code"], &problem["status"]), (&"http_405".into(), &405.into()));
    }
}
