//! The limit on connections of local users, and a connection that is counted. Daemons are not
//! counted, because they authenticate by TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

use crate::limiter::{IsTrusted, Limiter, Limits, Permit, Rule};
use crate::refusal::{ErrorBody, Refusal};

/// The files that a connection may take: itself, and the connection that forwards its request.
const FILES_EACH: u64 = 2;
/// One user may have at most a quarter of the connections for which there are files.
const PART: u64 = 4;
/// Ordinary users together may have three quarters.
const PARTS_OF_USERS: u64 = 3;
/// The minimum of a quarter, however few files there are.
const LEAST: u64 = 16;

/// A connection that is counted, by its permit, until it is dropped.
#[derive(Debug)]
pub struct Counted<S, P> {
    stream: S,
    _permit: P,
}

/// A connection of a local user.
pub type LocalStream = Counted<UnixStream, Permit>;

/// A limiter of connections to one socket.
pub(super) fn limiter(is_trusted: IsTrusted) -> Arc<Limiter> {
    let part = (open_files_max() / FILES_EACH / PART).max(LEAST);
    let limits = |places| Limits { places, bytes: u64::MAX };
    let rule = Rule {
        ordinary: limits(PARTS_OF_USERS * part),
        each: limits(part),
        waiting_each: 0,
        wait_max: Duration::ZERO,
        code: "too_many_connections",
        message: "too many connections to this daemon are open, yours or those of all users",
        hint: "end programs of yours that keep some open (`ss -xp`), then try again",
    };
    Limiter::new(rule, is_trusted)
}

/// The HTTP answer to a refused connection, sent before any request.
pub(super) fn refusal_response(refusal: Refusal) -> String {
    let status = refusal.status;
    // Own types always encode.
    let body = serde_json::to_string(&ErrorBody { error: refusal.error }).unwrap_or_default();
    let head = "Content-Type: application/json\r\nConnection: close";
    format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}")
}

/// The maximum number of open files of this process.
pub(super) fn open_files_max() -> u64 {
    // A system that reports no limit has none.
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX >> 2, |(soft, _)| soft.min(u64::MAX >> 2))
}

impl<S, P> Counted<S, P> {
    pub(super) const fn new(stream: S, permit: P) -> Self {
        Self { stream, _permit: permit }
    }
}

impl<S: Unpin, P: Unpin> Counted<S, P> {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut S> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl<S: AsyncRead + Unpin, P: Unpin> AsyncRead for Counted<S, P> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin, P: Unpin> AsyncWrite for Counted<S, P> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_counts_until_it_is_dropped_and_one_too_many_gets_an_answer() {
        let limiter = limiter(Arc::new(|_| false));
        let pair = || UnixStream::pair().unwrap().0;
        let connect = || limiter.take(1).map(|permit| LocalStream::new(pair(), permit));
        let connection = connect().unwrap();
        let held: Vec<_> = std::iter::from_fn(|| limiter.take(1).ok()).collect();
        let refusal = connect().unwrap_err();
        drop(connection);
        connect().unwrap();
        drop(held);

        let answer = refusal_response(refusal);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{head}");
        let error: ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(error.error.code, "too_many_connections");
        assert!(error.error.hint.is_some());
    }
}
