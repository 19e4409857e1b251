//! Asking a daemon: JSON over HTTP/1.1, on a connection that is kept and reused.
//!
//! A question is sent again by itself only where that cannot do harm: it never left, or it is a
//! GET. Everything else that breaks midway is reported as [`ClientError::Interrupted`].

mod dial;
mod error;
mod kept;
mod lines;

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
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
use kept::Kept;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// A list of a million jobs has its place; a runaway answer does not.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// More are opened when needed and closed when done, unless [`Client::with_idle_connections`] says
/// otherwise.
const IDLE_CONNECTIONS_MAX: usize = 4;
/// How much of an answer that is not ours is worth showing.
const FOREIGN_TEXT_CHARS: usize = 200;

/// Asks one daemon. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    connect_limit: Duration,
    answer_limit: Option<Duration>,
    idle_max: usize,
    idle: Arc<Mutex<Vec<Kept>>>,
}

impl Client {
    /// A client that connects when first asked. Limits: 5 s to connect, 30 s to answer.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            connect_limit: CONNECT_LIMIT,
            answer_limit: Some(ANSWER_LIMIT),
            idle_max: IDLE_CONNECTIONS_MAX,
            idle: Arc::default(),
        }
    }

    /// How long connecting may take, TLS included.
    pub fn with_connect_limit(mut self, limit: Duration) -> Self {
        self.connect_limit = limit;
        self
    }

    /// How long an answer may take, from the question to its last byte; for what streams
    /// ([`Client::send`]), to its head. `None` waits for ever.
    pub fn with_answer_limit(mut self, limit: Option<Duration>) -> Self {
        self.answer_limit = limit;
        self
    }

    /// How many connections are kept while nobody asks; 4 unless said. For who asks in the name of
    /// many at once: opening one costs more than a question.
    pub fn with_idle_connections(mut self, most: usize) -> Self {
        self.idle_max = most;
        self
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Connects, unless a connection is kept already; the next question goes out on it. For who
    /// must know that somebody is there before there is something to lose.
    ///
    /// # Errors
    /// [`ClientError`] when there is no connection to be had.
    pub async fn connect(&self) -> Result<(), ClientError> {
        let mut connection = match self.take_idle() {
            Some(connection) => connection,
            None => self.endpoint.dial(self.connect_limit).await?,
        };
        connection.ready().await.map_err(|error| self.interrupted(error))?;
        self.keep(connection);
        Ok(())
    }

    /// Asks for something. `path` may have a query.
    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, ClientError> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// Puts a question, or a wish.
    pub async fn post<Q, A>(&self, path: &str, question: &Q) -> Result<A, ClientError>
    where
        Q: Serialize + ?Sized,
        A: DeserializeOwned,
    {
        let body = serde_json::to_vec(question).map_err(|error| unaskable(path, error))?;
        self.ask(Method::POST, path, body.into()).await
    }

    /// Sends a request as it is and gives the response as it comes, whatever its status. Both
    /// bodies stream.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ClientError> {
        let again = repeatable(&request);
        let (response, connection) = self.within_limit(self.exchange(request, again)).await?;
        // Taken again only once the response has been read to its end.
        self.keep(connection);
        Ok(response)
    }

    async fn ask<A>(&self, method: Method, path: &str, body: Bytes) -> Result<A, ClientError>
    where
        A: DeserializeOwned,
    {
        let request = request(method, path, "application/json", Body::from(body))?;
        let again = repeatable(&request);
        let answer = self
            .within_limit(async {
                let (response, connection) = self.exchange(request, again).await?;
                self.read(response, connection).await
            })
            .await?;
        let text: &[u8] = if answer.is_empty() { b"null" } else { &answer };
        serde_json::from_slice(text).map_err(|error| self.broken(error))
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

    /// One request and the head of its response, on a kept connection or a new one.
    ///
    /// A kept connection may have died unnoticed. Then the request goes out on a new one if it
    /// never left, or else `again` does.
    async fn exchange(
        &self,
        mut request: Request<Body>,
        mut again: Option<Request<Body>>,
    ) -> Result<(Response<Body>, SendRequest<Body>), ClientError> {
        loop {
            request.headers_mut().insert(header::HOST, HeaderValue::from_static("kant"));
            let kept = self.take_idle();
            let is_kept = kept.is_some();
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.endpoint.dial(self.connect_limit).await?,
            };
            let mut failure = match connection.try_send_request(request).await {
                Ok(response) => return Ok((response.map(Body::new), connection)),
                Err(failure) => failure,
            };
            let unsent = failure.take_message();
            match unsent.or_else(|| again.take()) {
                Some(next) if is_kept => request = next,
                _ => return Err(self.interrupted(failure.into_error())),
            }
        }
    }

    /// The rest of an answer; the connection is kept once it is free again.
    async fn read(
        &self,
        response: Response<Body>,
        mut connection: SendRequest<Body>,
    ) -> Result<Bytes, ClientError> {
        let status = response.status();
        let body = self.collect(response.into_body()).await?;
        if connection.ready().await.is_ok() {
            self.keep(connection);
        }
        if status.is_success() { Ok(body) } else { Err(self.refused(status, &body)) }
    }

    async fn collect(&self, body: Body) -> Result<Bytes, ClientError> {
        let collected = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        Ok(collected.map_err(|error| self.unread(error))?.to_bytes())
    }

    /// Why an answer was not read to its end: there was too much of it, or it broke off.
    fn unread(&self, error: Box<dyn StdError + Send + Sync>) -> ClientError {
        match error.is::<http_body_util::LengthLimitError>() {
            true => self.broken(error),
            false => self.interrupted(error),
        }
    }

    fn take_idle(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(Kept::is_fresh);
        let free = idle.iter().position(|kept| kept.connection.is_ready())?;
        Some(idle.swap_remove(free).connection)
    }

    fn keep(&self, connection: SendRequest<Body>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(Kept::is_fresh);
        if idle.len() < self.idle_max {
            idle.push(Kept::new(connection));
        }
    }

    /// Reads why the daemon said no.
    pub(crate) async fn refusal_in(&self, response: Response<Body>) -> ClientError {
        let status = response.status();
        match self.within_limit(self.collect(response.into_body())).await {
            Ok(body) => self.refused(status, &body),
            Err(error) => error,
        }
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> ClientError {
        let error = match serde_json::from_slice(body) {
            Ok(ErrorBody { error }) => error,
            Err(_) => self.foreign(status, body),
        };
        ClientError::Refused { status: status.as_u16(), error }
    }

    /// A refusal that no handler of kant wrote: an unknown path, a body that does not parse.
    fn foreign(&self, status: StatusCode, body: &[u8]) -> ApiError {
        let text = String::from_utf8_lossy(body);
        let text: String = text.trim().chars().take(FOREIGN_TEXT_CHARS).collect();
        let gap = if text.is_empty() { "" } else { ": " };
        ApiError {
            code: format!("http-{}", status.as_u16()),
            message: format!("{} answered {status}{gap}{text}", self.endpoint),
            hint: None,
        }
    }

    pub(crate) fn broken(&self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> ClientError {
        ClientError::Broken { endpoint: self.endpoint.to_string(), source: source.into() }
    }

    pub(crate) fn interrupted(
        &self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> ClientError {
        ClientError::Interrupted { endpoint: self.endpoint.to_string(), source: source.into() }
    }
}

/// The same request once more, if asking twice does no harm.
fn repeatable(request: &Request<Body>) -> Option<Request<Body>> {
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
    let uri: Uri = path.parse().map_err(|error| unaskable(path, error))?;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(request)
}

fn unaskable(path: &str, source: impl Into<Box<dyn StdError + Send + Sync>>) -> ClientError {
    ClientError::Unaskable { path: path.to_owned(), source: source.into() }
}
