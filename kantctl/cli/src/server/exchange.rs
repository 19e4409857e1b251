//! One request to one daemon, and its answer, without retries.

use net::http::response::Parts;
use net::http::{self, HeaderMap, Request};
use net::{ApiError, Body, Bytes, Client, ClientError, to_bytes};
use serde::Deserialize;

/// More than a daemon sends: a backup has the size of a state, about 70 MiB with 100,000 jobs.
const ANSWER_BYTES_MAX: usize = 4 << 30;

/// The error body of a daemon's answer.
#[derive(Deserialize)]
struct Refused {
    error: ApiError,
}

pub fn with_path_in_error(path: &str, request: Result<Request<Body>, http::Error>) -> Asking {
    request.map_err(|error| ClientError::Unaskable { path: path.to_owned(), source: error.into() })
}

pub type Asking = Result<Request<Body>, ClientError>;

pub async fn get_bytes(client: &Client, path: &str) -> Result<(HeaderMap, Bytes), ClientError> {
    fetch(client, with_path_in_error(path, Request::get(path).body(Body::empty()))?).await
}

pub async fn post_bytes(client: &Client, path: &str, bytes: Bytes) -> Result<(), ClientError> {
    fetch(client, with_path_in_error(path, Request::post(path).body(Body::from(bytes)))?)
        .await
        .map(|_| ())
}

/// Sends a request, and returns the body of a successful answer as it arrives.
pub async fn streamed(client: &Client, path: &str) -> Result<Body, ClientError> {
    let response =
        client.send(with_path_in_error(path, Request::get(path).body(Body::empty()))?).await?;
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let (head, body) = response.into_parts();
    Err(refused(client, &head, &read_body(client, body).await?))
}

/// Sends a request, and waits for the whole answer.
pub async fn fetch(
    client: &Client,
    request: Request<Body>,
) -> Result<(HeaderMap, Bytes), ClientError> {
    let (head, body) = client.send(request).await?.into_parts();
    let bytes = read_body(client, body).await?;
    if head.status.is_success() {
        return Ok((head.headers, bytes));
    }
    Err(refused(client, &head, &bytes))
}

async fn read_body(client: &Client, body: Body) -> Result<Bytes, ClientError> {
    to_bytes(body, ANSWER_BYTES_MAX).await.map_err(|error| ClientError::Interrupted {
        endpoint: client.endpoint().to_string(),
        source: error.into(),
    })
}

/// The error of an unsuccessful answer.
fn refused(client: &Client, head: &Parts, bytes: &[u8]) -> ClientError {
    let status = head.status.as_u16();
    let error = serde_json::from_slice(bytes).map(|Refused { error }| error).unwrap_or_else(|_| {
        let message = format!("{} answered {}", client.endpoint(), head.status);
        ApiError { code: format!("http-{status}"), message, hint: None }
    });
    ClientError::Refused { status, error }
}
