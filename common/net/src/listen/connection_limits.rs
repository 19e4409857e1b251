//! The limits on connections of local users: one user leaves some to others, and all users together
//! leave some to root, operators and daemons. Daemons are not counted, because they authenticate by
//! TLS.

use common::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nix::sys::resource::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// The files that a connection may take: itself, and the connection that forwards its request.
const FILES_EACH: u64 = 2;
/// One user may have at most a quarter of the connections for which there are files.
const PART: u64 = 4;
/// Ordinary users together may have three quarters.
const PARTS_OF_USERS: u64 = 3;
/// The minimum of a quarter, however few files there are.
const LEAST: u64 = 16;

/// The response to a user with too many connections, sent before any request.
pub(super) const TOO_MANY: &str = concat!(
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
    r#"{"error":{"code":"too_many_connections","message":"you have too many connections to this "#,
    r#"daemon","hint":"end programs of yours that keep some open (`ss -xp`), then try again"}}"#
);

/// Is the user not an ordinary one?
pub(super) type IsTrusted = Arc<dyn Fn(u32) -> bool + Send + Sync>;

#[derive(Debug, Default)]
struct Taken {
    users: BTreeMap<u32, u64>,
    /// The connections of all ordinary users.
    ordinary: u64,
}

/// The counts of connections.
pub(super) struct ConnectionLimits {
    taken: Arc<Mutex<Taken>>,
    is_trusted: IsTrusted,
}

/// A connection of a user, counted until it is dropped.
#[derive(Debug)]
pub struct LocalStream {
    stream: UnixStream,
    _place: Place,
}

#[derive(Debug)]
struct Place {
    taken: Arc<Mutex<Taken>>,
    uid: u32,
    is_ordinary: bool,
}

impl ConnectionLimits {
    pub(super) fn new(is_trusted: IsTrusted) -> Self {
        Self { taken: Arc::default(), is_trusted }
    }

    /// Counts a connection; returns it if its user, or all users together, have too many.
    pub(super) fn take(&self, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        self.take_of(user_limit(), uid, stream)
    }

    fn take_of(&self, part: u64, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        let is_ordinary = !(self.is_trusted)(uid);
        let mut taken = self.taken.lock();
        let own = taken.users.get(&uid).copied().unwrap_or(0);
        let free = (PARTS_OF_USERS * part).saturating_sub(taken.ordinary);
        // The fewer are free, the fewer one user may have, so that the first few users leave some.
        // Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for
        // shared-memory packet switches", 1998.
        if own >= part || is_ordinary && own >= free {
            return Err(stream);
        }
        taken.users.insert(uid, own + 1);
        taken.ordinary += u64::from(is_ordinary);
        let taken = self.taken.clone();
        Ok(LocalStream { stream, _place: Place { taken, uid, is_ordinary } })
    }
}

impl fmt::Debug for ConnectionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.taken.fmt(f)
    }
}

/// The maximum number of connections of one user.
fn user_limit() -> u64 {
    (open_files_max() / FILES_EACH / PART).max(LEAST)
}

/// The maximum number of open files of this process.
pub(super) fn open_files_max() -> u64 {
    // A system that reports no limit has none.
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX >> 2, |(soft, _)| soft.min(u64::MAX >> 2))
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.ordinary -= u64::from(self.is_ordinary);
        if let Some(count) = taken.users.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                taken.users.remove(&self.uid);
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

    const ROOT: u32 = 0;

    fn limits() -> ConnectionLimits {
        ConnectionLimits::new(Arc::new(|uid| uid == ROOT))
    }

    /// Opens the maximum number of connections for a user.
    fn all(limits: &ConnectionLimits, part: u64, uid: u32) -> Vec<LocalStream> {
        std::iter::from_fn(|| limits.take_of(part, uid, UnixStream::pair().unwrap().0).ok())
            .collect()
    }

    #[tokio::test]
    async fn each_user_has_a_limit_of_its_own() {
        let limits = limits();
        let mut of_one = all(&limits, 2, 1);
        assert_eq!((of_one.len(), all(&limits, 2, 2).len()), (2, 2));
        of_one.pop();
        assert_eq!(all(&limits, 2, 1).len(), 1);
        assert_eq!(limits.taken.lock().users, BTreeMap::from([(1, 1)]));
    }

    #[tokio::test]
    async fn users_at_their_limits_leave_connections_to_others_and_root() {
        let (limits, part) = (limits(), 64);
        let many: Vec<_> = (1..=5).flat_map(|uid| all(&limits, part, uid)).collect();
        assert!(many.len() as u64 >= 2 * part, "it is not that there are few");
        assert!(!all(&limits, part, 99).is_empty(), "another user is let in");
        let rest: Vec<_> = (100..200).flat_map(|uid| all(&limits, part, uid)).collect();
        assert_eq!((many.len() + rest.len()) as u64, 3 * part, "that is all for users");
        assert_eq!(all(&limits, part, ROOT).len() as u64, part);
        drop((many, rest));
        assert_eq!(limits.taken.lock().ordinary, 0);
    }

    #[test]
    fn the_refusal_is_an_answer_that_a_client_reads() {
        let (head, body) = TOO_MANY.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429 "));
        let error: crate::refusal::ErrorBody = serde_json::from_str(body).unwrap();
        assert_eq!(error.error.code, "too_many_connections");
        assert!(error.error.hint.is_some());
    }
}
