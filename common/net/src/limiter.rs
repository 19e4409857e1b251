//! The limiter: what users may take of a daemon at a time. It bounds connections, requests in
//! progress, large bodies, long answers and watches, by one rule:
//!
//! - *Who.* Each user is counted, by uid, and may take `each`. All ordinary users together may
//!   take `ordinary`. Root, operators and the daemon's own user (trusted users) are not counted in
//!   that, so that ordinary users cannot keep them out.
//! - *What.* A place for each connection, request or watch. When a request's work is done, it has
//!   no place, and its answer counts by its bytes until the client has read it. A user whose unread
//!   answers reach the limit gets no new place.
//! - *How much.* The fewer places are free for ordinary users, the fewer one of them may take, so
//!   that the first few users leave some. Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue
//!   length thresholds for shared-memory packet switches", 1998.
//! - *Beyond.* At most `waiting_each` requests of a user wait, each for at most `wait_max`: for a
//!   place of the same user's, or for any. Others are refused with HTTP status 429 and a hint. A
//!   connection or a watch never waits.

use crate::refusal::Refusal;
use axum::http::StatusCode;
use common::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// What one user, or all ordinary ones, may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub places: u64,
    /// No place is given while unread answers of this size are held.
    pub bytes: u64,
}

/// The limits of one resource, and the refusal beyond them.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For all ordinary users together.
    pub ordinary: Limits,
    /// For one user.
    pub each: Limits,
    /// The most waiting requests of one user.
    pub waiting_each: u64,
    /// The longest wait; zero: none waits.
    pub wait_max: Duration,
    /// The code of the refusal, for programs.
    pub code: &'static str,
    /// What is in use.
    pub message: &'static str,
    pub hint: &'static str,
}

/// Is the user root, an operator or the daemon's own?
pub type IsTrusted = Arc<dyn Fn(u32) -> bool + Send + Sync>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share {
    places: u64,
    bytes: u64,
    waiting: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    ordinary: Share,
    by_user: BTreeMap<u32, Share>,
}

/// The counts of one resource.
pub struct Limiter {
    rule: Rule,
    is_trusted: IsTrusted,
    usage: Mutex<Usage>,
    freed: Notify,
}

/// A user, as it was when a permit began: who is trusted may change.
#[derive(Debug, Clone, Copy)]
struct Counted {
    uid: u32,
    is_ordinary: bool,
}

/// A place, a waiting request, or an unread answer. Released when dropped.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<Limiter>,
    user: Counted,
    share: Share,
}

impl Limiter {
    #[must_use]
    pub fn new(rule: Rule, is_trusted: IsTrusted) -> Arc<Self> {
        Arc::new(Self { rule, is_trusted, usage: Mutex::default(), freed: Notify::new() })
    }

    /// Takes a place for this user without waiting.
    ///
    /// # Errors
    /// The rule's refusal.
    pub fn take(self: &Arc<Self>, uid: u32) -> Result<Permit, Refusal> {
        let share = Share { places: 1, ..Share::default() };
        let permit = self.permit(uid, share, |usage, user| self.has_place(usage, user));
        permit.ok_or_else(|| self.refusal(""))
    }

    /// Takes a place for this user, and waits for it as long as the rule says.
    ///
    /// # Errors
    /// The rule's refusal.
    pub async fn acquire(self: &Arc<Self>, uid: u32) -> Result<Permit, Refusal> {
        let Rule { waiting_each, wait_max, .. } = self.rule;
        match self.take(uid) {
            Err(_) if !wait_max.is_zero() => {}
            taken => return taken,
        }
        let share = Share { waiting: 1, ..Share::default() };
        let waiting =
            self.permit(uid, share, |usage, user| usage.of_user(user.uid).waiting < waiting_each);
        let _waiting =
            waiting.ok_or_else(|| self.refusal(&format!(": {waiting_each} more already wait")))?;
        let taking = async {
            loop {
                let freed = self.freed.notified();
                if let Ok(permit) = self.take(uid) {
                    return permit;
                }
                freed.await;
            }
        };
        let late =
            |_| self.refusal(&format!(": no place was free within {} s", wait_max.as_secs()));
        tokio::time::timeout(wait_max, taking).await.map_err(late)
    }

    /// A permit for this share, if there is room for it.
    fn permit(
        self: &Arc<Self>,
        uid: u32,
        share: Share,
        has_room: impl FnOnce(&Usage, Counted) -> bool,
    ) -> Option<Permit> {
        let user = Counted { uid, is_ordinary: !(self.is_trusted)(uid) };
        let mut usage = self.usage.lock();
        has_room(&usage, user).then(|| {
            usage.add(user, share);
            Permit { limiter: self.clone(), user, share }
        })
    }

    fn has_place(&self, usage: &Usage, user: Counted) -> bool {
        let (own, all, rule) = (usage.of_user(user.uid), usage.ordinary, &self.rule);
        let is_below_each = own.places < rule.each.places && own.bytes < rule.each.bytes;
        let free = rule.ordinary.places.saturating_sub(all.places);
        is_below_each && (!user.is_ordinary || own.places < free && all.bytes < rule.ordinary.bytes)
    }

    fn refusal(&self, why: &str) -> Refusal {
        let Rule { code, message, hint, .. } = self.rule;
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, code, format!("{message}{why}")).with_hint(hint)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.usage.fmt(f)
    }
}

impl Usage {
    fn of_user(&self, uid: u32) -> Share {
        self.by_user.get(&uid).copied().unwrap_or_default()
    }

    fn shares(&mut self, user: Counted) -> impl Iterator<Item = &mut Share> {
        let own = self.by_user.entry(user.uid).or_default();
        user.is_ordinary.then_some(&mut self.ordinary).into_iter().chain([own])
    }

    fn add(&mut self, user: Counted, more: Share) {
        for share in self.shares(user) {
            share.places += more.places;
            share.bytes += more.bytes;
            share.waiting += more.waiting;
        }
    }

    fn subtract(&mut self, user: Counted, less: Share) {
        for share in self.shares(user) {
            share.places -= less.places;
            share.bytes -= less.bytes;
            share.waiting -= less.waiting;
        }
        if self.of_user(user.uid) == Share::default() {
            self.by_user.remove(&user.uid);
        }
    }
}

impl Permit {
    /// The work is done; from now on its answer of this size counts.
    pub fn count_answer_bytes(&mut self, bytes: u64) {
        let share = Share { bytes, ..Share::default() };
        let mut usage = self.limiter.usage.lock();
        usage.subtract(self.user, std::mem::replace(&mut self.share, share));
        usage.add(self.user, share);
        drop(usage);
        self.limiter.freed.notify_waiters();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.usage.lock().subtract(self.user, self.share);
        self.limiter.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    const ROOT: u32 = 0;
    const ADA: u32 = 1;
    const BEN: u32 = 2;

    fn limiter(ordinary: u64, each: u64, wait_max: Duration) -> Arc<Limiter> {
        let rule = Rule {
            ordinary: Limits { places: ordinary, bytes: 100 },
            each: Limits { places: each, bytes: 50 },
            waiting_each: 1,
            wait_max,
            code: "too_many",
            message: "too many requests",
            hint: "wait",
        };
        Limiter::new(rule, Arc::new(|uid| uid == ROOT))
    }

    /// Takes all places that a user gets.
    fn all(limiter: &Arc<Limiter>, uid: u32) -> Vec<Permit> {
        std::iter::from_fn(|| limiter.take(uid).ok()).collect()
    }

    #[tokio::test]
    async fn one_user_takes_some_and_delays_only_their_own_requests() {
        let limiter = limiter(4, 2, Duration::from_secs(600));
        let first = limiter.acquire(ADA).await.unwrap();
        let _second = limiter.acquire(ADA).await.unwrap();
        let mut third = Box::pin(limiter.acquire(ADA));
        assert!((&mut third).now_or_never().is_none());
        let refusal = limiter.acquire(ADA).await.unwrap_err();
        assert_eq!(refusal.error.message, "too many requests: 1 more already wait");
        let _bens = limiter.acquire(BEN).await.unwrap();
        drop(first);
        third.await.unwrap();
    }

    #[tokio::test]
    async fn users_at_their_limits_leave_places_to_others_and_to_trusted_users() {
        let (limiter, each) = (limiter(192, 64, Duration::ZERO), 64);
        let many: Vec<_> = (1..=5).flat_map(|uid| all(&limiter, uid)).collect();
        assert!(many.len() as u64 >= 2 * each, "it is not that there are few");
        assert!(!all(&limiter, 99).is_empty(), "another user is let in");
        let rest: Vec<_> = (100..200).flat_map(|uid| all(&limiter, uid)).collect();
        assert_eq!((many.len() + rest.len()) as u64, 3 * each, "that is all for users");
        assert_eq!(all(&limiter, ROOT).len() as u64, each);
        drop((many, rest));
        assert_eq!(*limiter.usage.lock(), Usage::default());
    }

    #[tokio::test]
    async fn an_answer_counts_until_it_is_dropped() {
        let limiter = limiter(3, 2, Duration::ZERO);
        let mut large = limiter.take(ADA).unwrap();
        large.count_answer_bytes(70);
        let refusal = limiter.acquire(ADA).await.unwrap_err();
        assert_eq!(refusal.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(
            (refusal.error.code.as_str(), refusal.error.hint.as_deref()),
            ("too_many", Some("wait"))
        );
        let mut small = limiter.take(BEN).unwrap();
        small.count_answer_bytes(30);
        assert!(limiter.take(BEN).is_err(), "all bytes are in use");
        drop(limiter.take(ROOT).unwrap());
        drop(large);
        drop(limiter.take(ADA).unwrap());
        drop(small);
        assert_eq!(*limiter.usage.lock(), Usage::default());
    }

    #[tokio::test]
    async fn a_request_that_leaves_the_queue_leaves_no_trace() {
        let limiter = limiter(4, 2, Duration::from_secs(600));
        let held = all(&limiter, ADA);
        assert_eq!(held.len(), 2);
        for _ in 0..3 {
            assert!(limiter.acquire(ADA).now_or_never().is_none());
        }
        drop(held);
        assert_eq!(*limiter.usage.lock(), Usage::default());
    }

    #[tokio::test]
    async fn a_request_that_waits_for_too_long_is_refused() {
        let limiter = limiter(2, 1, Duration::from_millis(1));
        let _held = limiter.take(ADA).unwrap();
        let refusal = limiter.acquire(ADA).await.unwrap_err();
        assert_eq!(refusal.error.message, "too many requests: no place was free within 0 s");
    }
}
