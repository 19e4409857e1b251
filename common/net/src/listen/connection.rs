//! One HTTP connection with time limits. A head that does not arrive, a body that does not end and
//! an answer that is not read end the connection, since each holds a file descriptor, of which
//! there are few. An answer may take any time to produce.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::Response;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Sleep;
use tower_service::Service as _;

use super::write_timeout::WriteTimeout;
use crate::caller::Caller;

/// The time limits of a connection's peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For the head of a request, from the end of the answer before it; so also for an idle
    /// connection. Longer than [`crate::Client`] keeps one.
    pub(super) head: Duration,
    /// For the body of the request.
    pub(super) body: Duration,
    /// For accepting the next bytes of an answer.
    pub(super) stall: Duration,
    /// More than one request.
    pub(super) keep_alive: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let (head, minute) = (Duration::from_secs(30), Duration::from_secs(60));
        Self { head, body: minute, stall: minute, keep_alive: true }
    }
}

/// A stranger sends one small request, and its answer fits into a packet or two.
const STRANGER_LIMIT: Duration = Duration::from_secs(5);

impl Limits {
    /// The limits of a host without a certificate.
    pub(super) fn capped_for_stranger(self) -> Self {
        let most = |limit: Duration| limit.min(STRANGER_LIMIT);
        let (head, body, stall) = (most(self.head), most(self.body), most(self.stall));
        Self { head, body, stall, keep_alive: false }
    }
}

/// Answers the requests one after the other. After `stopping` is set, the current one is the last.
pub(super) async fn serve<I>(
    io: I,
    caller: Caller,
    router: Router,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service =
        service_fn(|request| answer(request, caller.clone(), router.clone(), limits.body));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .keep_alive(limits.keep_alive)
        .serve_connection(TokioIo::new(WriteTimeout::new(io, limits.stall)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // An error means that the server is gone, and the connection must stop as well.
    let stop = async { drop(stopping.wait_for(|stop| *stop).await) };
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(?caller, %error, "a connection ended early");
    }
}

async fn answer(
    mut request: Request<Incoming>,
    caller: Caller,
    mut router: Router,
    limit: Duration,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(ConnectInfo(caller));
    router.call(request.map(|body| Body::new(InTime { body, limit, until: None }))).await
}

/// The body of a request took too long.
#[derive(Debug, Error)]
#[error("the request was not complete within {} s", .0.as_secs())]
struct TooSlow(Duration);

/// A body that arrives in time or fails.
struct InTime {
    body: Incoming,
    limit: Duration,
    /// Set while the body is awaited.
    until: Option<Pin<Box<Sleep>>>,
}

impl hyper::body::Body for InTime {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| Ok(frame?)));
        }
        let limit = self.limit;
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Some(Err(TooSlow(limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
