//! How many connections local users have: what one opens leaves some to others, and what all of
//! them open leaves some to root, operators and daemons. Never counts daemons, which prove
//! themselves by TLS.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use nix::sys::resource::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

/// The files that a connection may take: itself, and the connection by which its request is passed
/// on.
const FILES_EACH: u64 = 2;
/// Of the connections that there are files for, the part that is one user's at most.
const PART: u64 = 4;
/// The parts that are all ordinary users' together.
const PARTS_OF_USERS: u64 = 3;
/// The least number of connections of a part, however few files there are.
const LEAST: u64 = 16;

/// What is said to whoever has too many: there is no request yet to answer.
pub(super) const TOO_MANY: &str = concat!(
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
    r#"{"error":{"code":"too_many_connections","message":"you have too many connections to this "#,
    r#"daemon","hint":"end programs of yours that keep some open (`ss -xp`), then try again"}}"#
);

/// Tells who is no ordinary user.
pub(super) type IsTrusted = Arc<dyn Fn(u32) -> bool + Send + Sync>;

#[derive(Debug, Default)]
struct Taken {
    users: BTreeMap<u32, u64>,
    /// Those of all ordinary users.
    ordinary: u64,
}

/// The connections there are.
pub(super) struct Places {
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

impl Places {
    /// With these users trusted.
    pub(super) fn new(is_trusted: IsTrusted) -> Self {
        Self { taken: Arc::default(), is_trusted }
    }

    /// Counts a connection; hands it back if its user, or all users together, have too many.
    pub(super) fn take(&self, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        self.take_of(part(), uid, stream)
    }

    fn take_of(&self, part: u64, uid: u32, stream: UnixStream) -> Result<LocalStream, UnixStream> {
        let is_ordinary = !(self.is_trusted)(uid);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.users.get(&uid).copied().unwrap_or(0);
        let free = (PARTS_OF_USERS * part).saturating_sub(taken.ordinary);
        // The fewer are left, the fewer may one user have: the first few do not take all of them.
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

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.taken.fmt(f)
    }
}

/// The connections that one user may have at most.
fn part() -> u64 {
    (files() / FILES_EACH / PART).max(LEAST)
}

/// The files that this process may have open.
pub(super) fn files() -> u64 {
    // A system that does not tell has no such limit.
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX >> 2, |(soft, _)| soft.min(u64::MAX >> 2))
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn places() -> Places {
        Places::new(Arc::new(|uid| uid == ROOT))
    }

    /// As many as a user gets.
    fn all(places: &Places, part: u64, uid: u32) -> Vec<LocalStream> {
        std::iter::from_fn(|| places.take_of(part, uid, UnixStream::pair().unwrap().0).ok())
            .collect()
    }

    #[tokio::test]
    async fn one_user_has_so_many_and_others_have_theirs() {
        let places = places();
        let mut of_one = all(&places, 2, 1);
        assert_eq!((of_one.len(), all(&places, 2, 2).len()), (2, 2));
        of_one.pop();
        assert_eq!(all(&places, 2, 1).len(), 1);
        assert_eq!(places.taken.lock().unwrap().users, BTreeMap::from([(1, 1)]));
    }

    #[tokio::test]
    async fn users_that_take_all_they_get_leave_some_to_another_and_a_part_to_root() {
        let (places, part) = (places(), 64);
        let crowd: Vec<_> = (1..=5).flat_map(|uid| all(&places, part, uid)).collect();
        assert!(crowd.len() as u64 >= 2 * part, "it is not that there are few");
        assert!(!all(&places, part, 99).is_empty(), "another user is let in");
        let rest: Vec<_> = (100..200).flat_map(|uid| all(&places, part, uid)).collect();
        assert_eq!((crowd.len() + rest.len()) as u64, 3 * part, "that is all for users");
        assert_eq!(all(&places, part, ROOT).len() as u64, part);
        drop((crowd, rest));
        assert_eq!(places.taken.lock().unwrap().ordinary, 0);
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
