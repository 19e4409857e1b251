//! A client of a daemon: JSON over HTTP/1.1, on connections that are kept and reused.
//!
//! A request is retried only if that is safe: it was not sent, or it is a GET. Any other request
//! that breaks off is reported as [`ClientError::Interrupted`].

mod dial;
mod error;
mod idle;
mod lines;

use common::sync::Mutex;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body as _;
use hyper::client::conn::http1::SendRequest;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use dial::Endpoint;
pub use error::ClientError;

use crate::refusal::{ApiError, ErrorBody};
use idle::IdleConnection;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Large enough for a list of a million jobs, with protection from an endless answer.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// More connections are opened when needed and closed after use, unless
/// [`Client::with_idle_connections`] sets another number.
const IDLE_CONNECTIONS_MAX: usize = 4;
/// The length of the excerpt of an answer that is not kant's.
const FOREIGN_TEXT_CHARS: usize = 200;

/// A client of one daemon. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    connect_limit: Duration,
    answer_limit: Option<Duration>,
    idle_max: usize,
    idle: Arc<Mutex<Vec<IdleConnection>>>,
}

impl Client {
    /// A client that connects on its first request. Limits: 5 s to connect, 30 s to answer.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            connect_limit: CONNECT_LIMIT,
            answer_limit: Some(ANSWER_LIMIT),
            idle_max: IDLE_CONNECTIONS_MAX,
            idle: Arc::default(),
        }
    }

    /// The time limit for connecting, TLS included.
    pub fn with_connect_limit(mut self, limit: Duration) -> Self {
        self.connect_limit = limit;
        self
    }

    /// The time limit for an answer, from the request to the last byte; for streams
    /// ([`Client::send`]), to the head. `None`: no limit.
    pub fn with_answer_limit(mut self, limit: Option<Duration>) -> Self {
        self.answer_limit = limit;
        self
    }

    /// The number of idle connections that are kept; 4 by default. A client that acts for many
    /// users needs more, since opening a connection costs more than a request.
    pub fn with_idle_connections(mut self, most: usize) -> Self {
        self.idle_max = most;
        self
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Connects, unless an idle connection exists; the next request uses it. For callers that must
    /// know that the daemon is reachable before they have something to lose.
    ///
    /// # Errors
    /// [`ClientError`] if no connection can be opened.
    pub async fn connect(&self) -> Result<(), ClientError> {
        let mut connection = match self.take_idle() {
            Some(connection) => connection,
            None => self.endpoint.dial(self.connect_limit).await?,
        };
        connection.ready().await.map_err(|error| self.interrupted_error(error))?;
        self.put_idle(connection);
        Ok(())
    }

    /// Sends a GET request. `path` may have a query.
    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, ClientError> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// Sends a POST request.
    pub async fn post<Q, A>(&self, path: &str, question: &Q) -> Result<A, ClientError>
    where
        Q: Serialize + ?Sized,
        A: DeserializeOwned,
    {
        let body =
            serde_json::to_vec(question).map_err(|error| invalid_request_error(path, error))?;
        self.ask(Method::POST, path, body.into()).await
    }

    /// Sends a request unchanged and returns the response with any status. Both bodies stream.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ClientError> {
        let again = copy_if_repeatable(&request);
        let (response, connection) = self.within_limit(self.exchange(request, again)).await?;
        // It is reused only once the response has been read to its end.
        self.put_idle(connection);
        Ok(response)
    }

    async fn ask<A>(&self, method: Method, path: &str, body: Bytes) -> Result<A, ClientError>
    where
        A: DeserializeOwned,
    {
        let request = request(method, path, "application/json", Body::from(body))?;
        let again = copy_if_repeatable(&request);
        let answer = self
            .within_limit(async {
                let (response, connection) = self.exchange(request, again).await?;
                self.read_body(response, connection).await
            })
            .await?;
        let text: &[u8] = if answer.is_empty() { b"null" } else { &answer };
        serde_json::from_slice(text).map_err(|error| self.broken_error(error))
    }

    async fn within_limit<T>(
        &self,
        asking: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let Some(limit) = self.answer_limit else { return asking.await };
        tokio::time::timeout(limit, asking).await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                endpoint: self.endpoint.to_string(),
                limit_seconds: limit.as_secs_f32(),
            })
        })
    }

    /// Sends a request, on an idle connection or a new one, and waits for the head of the response.
    ///
    /// An idle connection may have died unnoticed. Then the request is sent on a new one if it was
    /// not sent yet; otherwise `again` is sent.
    async fn exchange(
        &self,
        mut request: Request<Body>,
        mut again: Option<Request<Body>>,
    ) -> Result<(Response<Body>, SendRequest<Body>), ClientError> {
        loop {
            request.headers_mut().insert(header::HOST, HeaderValue::from_static("kant"));
            let idle = self.take_idle();
            let is_reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.endpoint.dial(self.connect_limit).await?,
            };
            let mut failure = match connection.try_send_request(request).await {
                Ok(response) => return Ok((response.map(Body::new), connection)),
                Err(failure) => failure,
            };
            let unsent = failure.take_message();
            match unsent.or_else(|| again.take()) {
                Some(next) if is_reused => request = next,
                _ => return Err(self.interrupted_error(failure.into_error())),
            }
        }
    }

    /// Reads the rest of an answer; the connection is kept once it is free again.
    async fn read_body(
        &self,
        response: Response<Body>,
        mut connection: SendRequest<Body>,
    ) -> Result<Bytes, ClientError> {
        let status = response.status();
        let body = self.collect(response.into_body()).await?;
        if connection.ready().await.is_ok() {
            self.put_idle(connection);
        }
        if status.is_success() { Ok(body) } else { Err(self.parse_refusal(status, &body)) }
    }

    async fn collect(&self, body: Body) -> Result<Bytes, ClientError> {
        let collected = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        Ok(collected.map_err(|error| self.body_error(error))?.to_bytes())
    }

    /// The error for an answer that is too large or broke off.
    fn body_error(&self, error: Box<dyn StdError + Send + Sync>) -> ClientError {
        match error.is::<http_body_util::LengthLimitError>() {
            true => self.broken_error(error),
            false => self.interrupted_error(error),
        }
    }

    fn take_idle(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock();
        idle.retain(IdleConnection::is_fresh);
        let free = idle.iter().position(|idle| idle.connection.is_ready())?;
        Some(idle.swap_remove(free).connection)
    }

    fn put_idle(&self, connection: SendRequest<Body>) {
        let mut idle = self.idle.lock();
        idle.retain(IdleConnection::is_fresh);
        if idle.len() < self.idle_max {
            idle.push(IdleConnection::new(connection));
        }
    }

    /// Parses a refusal by the daemon.
    pub(crate) async fn read_refusal(&self, response: Response<Body>) -> ClientError {
        let status = response.status();
        match self.within_limit(self.collect(response.into_body())).await {
            Ok(body) => self.parse_refusal(status, &body),
            Err(error) => error,
        }
    }

    fn parse_refusal(&self, status: StatusCode, body: &[u8]) -> ClientError {
        let error = match serde_json::from_slice(body) {
            Ok(ErrorBody { error }) => error,
            Err(_) => self.refusal_from_text(status, body),
        };
        ClientError::Refused { status: status.as_u16(), error }
    }

    /// A refusal that no handler of kant wrote: an unknown path, or a body that does not parse.
    fn refusal_from_text(&self, status: StatusCode, body: &[u8]) -> ApiError {
        let text = String::from_utf8_lossy(body);
        let text: String = text.trim().chars().take(FOREIGN_TEXT_CHARS).collect();
        let gap = if text.is_empty() { "" } else { ": " };
        ApiError {
            code: format!("http-{}", status.as_u16()),
            message: format!("{} answered {status}{gap}{text}", self.endpoint),
            hint: None,
        }
    }

    pub(crate) fn broken_error(
        &self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> ClientError {
        ClientError::Broken { endpoint: self.endpoint.to_string(), source: source.into() }
    }

    pub(crate) fn interrupted_error(
        &self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> ClientError {
        ClientError::Interrupted { endpoint: self.endpoint.to_string(), source: source.into() }
    }
}

/// A copy of the request, if sending it twice is safe.
fn copy_if_repeatable(request: &Request<Body>) -> Option<Request<Body>> {
    let harmless = request.method() == Method::GET && request.body().is_end_stream();
    harmless.then(|| {
        let mut again = Request::new(Body::empty());
        *again.uri_mut() = request.uri().clone();
        *again.headers_mut() = request.headers().clone();
        again
    })
}

fn request(
    method: Method,
    path: &str,
    content_type: &'static str,
    body: Body,
) -> Result<Request<Body>, ClientError> {
    let uri: Uri = path.parse().map_err(|error| invalid_request_error(path, error))?;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(request)
}

fn invalid_request_error(
    path: &str,
    source: impl Into<Box<dyn StdError + Send + Sync>>,
) -> ClientError {
    ClientError::Unaskable { path: path.to_owned(), source: source.into() }
}
