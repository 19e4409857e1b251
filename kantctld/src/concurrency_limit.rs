//! A concurrency limit: at most N permits at once, a lower limit for each user, and a short queue
//! for each user, so that a user with too many requests delays only their own. The size of a
//! response counts against the limit until the client has read it.

use common::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The limits of one resource.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub permits: u32,
    /// For one user.
    pub permits_per_user: u32,
    /// No permit is given while responses of this size are held.
    pub bytes: u64,
    /// The same for one user's responses.
    pub bytes_per_user: u64,
    /// The most waiting requests of one user.
    pub waiting_per_user: u32,
    /// The longest wait.
    pub wait_max: Duration,
}

/// Why no permit was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPermit {
    /// Too many requests of the same user wait already.
    #[error("{0} of your requests are already waiting")]
    QueueFull(u32),
    #[error("no free slot within {} s: your other requests use all you may have", .0.as_secs())]
    Timeout(Duration),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share {
    permits: u32,
    bytes: u64,
    waiting: u32,
}

#[derive(Debug, Default)]
struct Usage {
    all: Share,
    by_user: BTreeMap<u32, Share>,
}

/// The permits of one resource.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    limits: Limits,
    usage: Mutex<Usage>,
    freed: Notify,
}

/// A permit, or the response that it produced. Released when dropped.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<ConcurrencyLimit>,
    uid: u32,
    share: Share,
}

/// A place in the queue.
struct Waiting<'a> {
    limit: &'a ConcurrencyLimit,
    uid: u32,
}

impl ConcurrencyLimit {
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, usage: Mutex::default(), freed: Notify::new() })
    }

    /// Waits for a permit for this user.
    ///
    /// # Errors
    /// [`NoPermit`].
    pub async fn acquire(self: &Arc<Self>, uid: u32) -> Result<Permit, NoPermit> {
        if let Some(permit) = self.try_acquire(uid) {
            return Ok(permit);
        }
        let _waiting = self.enqueue(uid)?;
        let wait_max = self.limits.wait_max;
        let waiting = async {
            loop {
                let freed = self.freed.notified();
                if let Some(permit) = self.try_acquire(uid) {
                    return permit;
                }
                freed.await;
            }
        };
        tokio::time::timeout(wait_max, waiting).await.map_err(|_| NoPermit::Timeout(wait_max))
    }

    fn try_acquire(self: &Arc<Self>, uid: u32) -> Option<Permit> {
        let (limits, mut usage) = (&self.limits, self.usage.lock());
        let own = usage.by_user.get(&uid).copied().unwrap_or_default();
        let is_free = usage.all.permits < limits.permits && usage.all.bytes < limits.bytes;
        let may = own.permits < limits.permits_per_user && own.bytes < limits.bytes_per_user;
        (is_free && may).then(|| {
            let share = Share { permits: 1, ..Share::default() };
            usage.add(uid, share);
            Permit { limit: self.clone(), uid, share }
        })
    }

    fn enqueue(&self, uid: u32) -> Result<Waiting<'_>, NoPermit> {
        let mut usage = self.usage.lock();
        let waiting = usage.by_user.get(&uid).map_or(0, |own| own.waiting);
        if waiting >= self.limits.waiting_per_user {
            return Err(NoPermit::QueueFull(waiting));
        }
        usage.add(uid, Share { waiting: 1, ..Share::default() });
        Ok(Waiting { limit: self, uid })
    }
}

impl Usage {
    fn add(&mut self, uid: u32, more: Share) {
        for share in [&mut self.all, self.by_user.entry(uid).or_default()] {
            share.permits += more.permits;
            share.bytes += more.bytes;
            share.waiting += more.waiting;
        }
    }

    fn subtract(&mut self, uid: u32, less: Share) {
        let own = self.by_user.entry(uid).or_default();
        for share in [&mut self.all, own] {
            share.permits -= less.permits;
            share.bytes -= less.bytes;
            share.waiting -= less.waiting;
        }
        self.by_user.retain(|other, share| *other != uid || *share != Share::default());
    }
}

impl Permit {
    /// The work is done; from now on its response of this size counts.
    pub fn hold_response(&mut self, bytes: u64) {
        let share = Share { bytes, ..Share::default() };
        let mut usage = self.limit.usage.lock();
        usage.subtract(self.uid, std::mem::replace(&mut self.share, share));
        usage.add(self.uid, share);
        drop(usage);
        self.limit.freed.notify_waiters();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limit.usage.lock().subtract(self.uid, self.share);
        self.limit.freed.notify_waiters();
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.limit.usage.lock().subtract(self.uid, Share { waiting: 1, ..Share::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    const ADA: u32 = 1;
    const BEN: u32 = 2;

    fn limit(wait_max: Duration) -> Arc<ConcurrencyLimit> {
        ConcurrencyLimit::new(Limits {
            permits: 3,
            permits_per_user: 2,
            bytes: 100,
            bytes_per_user: 50,
            waiting_per_user: 1,
            wait_max,
        })
    }

    #[tokio::test]
    async fn one_user_takes_some_and_delays_only_their_own_requests() {
        let limit = limit(Duration::from_secs(600));
        let first = limit.acquire(ADA).await.unwrap();
        let _second = limit.acquire(ADA).await.unwrap();
        let mut third = Box::pin(limit.acquire(ADA));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(limit.acquire(ADA).await.unwrap_err(), NoPermit::QueueFull(1));
        let _bens = limit.acquire(BEN).await.unwrap();
        drop(first);
        third.await.unwrap();
    }

    #[tokio::test]
    async fn a_response_counts_until_it_is_dropped() {
        let limit = limit(Duration::ZERO);
        let mut large = limit.acquire(ADA).await.unwrap();
        large.hold_response(70);
        assert_eq!(limit.acquire(ADA).await.unwrap_err(), NoPermit::Timeout(Duration::ZERO));
        let mut small = limit.acquire(BEN).await.unwrap();
        small.hold_response(30);
        assert!(limit.acquire(BEN).await.is_err(), "all bytes are in use");
        drop(large);
        limit.acquire(ADA).await.unwrap();
        drop(small);
        assert!(limit.usage.lock().by_user.is_empty());
        assert_eq!(limit.usage.lock().all, Share::default());
    }

    #[tokio::test]
    async fn a_request_that_leaves_the_queue_leaves_no_trace() {
        let limit = limit(Duration::from_secs(600));
        let held = [limit.acquire(ADA).await.unwrap(), limit.acquire(ADA).await.unwrap()];
        for _ in 0..3 {
            assert!(limit.acquire(ADA).now_or_never().is_none());
        }
        drop(held);
        assert!(limit.usage.lock().by_user.is_empty());
    }
}
