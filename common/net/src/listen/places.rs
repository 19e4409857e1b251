//! How many connections each local user has: a program that opens one after the other must leave
//! some to others. Never counts daemons, which prove themselves by TLS.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use nix::sys::resource::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// Of the files that this process may have open, the part that one user's connections may be.
const PART: u64 = 4;
/// However few files there are.
const LEAST: u64 = 16;

/// What is said to whoever has too many: there is no request yet to answer.
pub(super) const TOO_MANY: &str = concat!(
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
    r#"{"error":{"code":"too_many_connections","message":"you have too many connections to this "#,
    r#"daemon","hint":"end programs of yours that keep some open (`ss -xp`), then try again"}}"#
);

type Users = Mutex<BTreeMap<u32, u64>>;

/// The connections there are.
#[derive(Debug, Default)]
pub(super) struct Places {
    users: Arc<Users>,
}

/// A connection of a user, counted until it is dropped.
#[derive(Debug)]
pub struct LocalStream {
    stream: UnixStream,
    _place: Place,
}

#[derive(Debug)]
struct Place {
    users: Arc<Users>,
    uid: u32,
}

impl Places {
    /// Counts a connection; hands it back if its user has too many.
    pub(super) fn take(&self, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        // A system that does not tell has no such limit.
        let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        self.take_of((files / PART).max(LEAST), uid, stream)
    }

    fn take_of(&self, most: u64, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let count = users.entry(uid).or_default();
        if *count >= most {
            return Err(stream);
        }
        *count += 1;
        Ok(LocalStream { stream, _place: Place { users: self.users.clone(), uid } })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.uid);
            }
        }
    }
}

impl LocalStream {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut UnixStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for LocalStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(cx, buf)
    }
}

impl AsyncWrite for LocalStream {
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
    async fn one_user_has_so_many_and_others_have_theirs() {
        let places = Places::default();
        let take = |uid| places.take_of(2, uid, UnixStream::pair().unwrap().0);
        let first = take(1).unwrap();
        let _second = take(1).unwrap();
        assert!(take(1).is_err());
        let _of_another = take(2).unwrap();
        drop(first);
        take(1).unwrap();
        assert_eq!(places.users.lock().unwrap().get(&1), Some(&1));
    }

    #[test]
    fn the_refusal_is_an_answer_that_a_client_reads() {
        let (head, body) = TOO_MANY.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429 "));
        let told: crate::refusal::ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(told.error.code, "too_many_connections");
        assert!(told.error.hint.is_some());
    }
}
