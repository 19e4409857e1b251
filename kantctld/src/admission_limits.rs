//! The controller's limits on requests, as rules of [`Limiter`]: lists, forecasts, move searches,
//! large bodies, watches, and programs with tokens. The listener has one for connections.

use net::limiter::{IsTrusted, Limiter, Limits, Rule};
use std::sync::Arc;
use std::time::Duration;

/// The most lists of ordinary users made at once; further requests wait.
pub const LISTS_MAX: u64 = 8;
/// The most forecasts of ordinary users made at once: each may take a core for seconds.
const FORECASTS_MAX: u64 = 2;
/// The most large requests (up to 16 MiB each) of ordinary users read and carried out at once.
const REQUESTS_MAX: u64 = 16;
/// The longest search.
pub const SEARCH_TIME_MAX: Duration = Duration::from_secs(20);
/// The most watches of one user. One watch can be about many jobs.
const WATCHES_EACH: u64 = 8;
/// The most bytes of lists in memory that clients have not read yet; no list is started above it.
const LISTS_BYTES: u64 = 256 << 20;
/// The most requests of ordinary users' programs in progress.
const PROGRAMS_MAX: u64 = 256;
/// Shorter than kantctl's timeout, so that the user sees the reason.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// The most waiting requests of one user.
const WAITING_EACH: u64 = 256;

#[derive(Debug)]
pub struct AdmissionLimits {
    pub lists: Arc<Limiter>,
    /// Simulations of future rounds.
    pub forecasts: Arc<Limiter>,
    /// Searches for moves: one at a time, also of trusted users, and none waits.
    pub searches: Arc<Limiter>,
    /// Requests with large bodies.
    pub requests: Arc<Limiter>,
    /// Their number is bounded by that of connections.
    pub watches: Arc<Limiter>,
    /// Requests of programs with tokens.
    pub programs: Arc<Limiter>,
}

impl AdmissionLimits {
    /// The limiters; trusted users are root and operators.
    #[must_use]
    pub fn new(is_trusted: IsTrusted) -> Self {
        let limiter = |rule| Limiter::new(rule, is_trusted.clone());
        Self {
            lists: limiter(expensive_requests_rule(LISTS_MAX, LISTS_BYTES)),
            forecasts: limiter(expensive_requests_rule(FORECASTS_MAX, u64::MAX)),
            searches: Limiter::new(SEARCHES, Arc::new(|_| false)),
            requests: limiter(expensive_requests_rule(REQUESTS_MAX, u64::MAX)),
            watches: limiter(WATCHES),
            programs: limiter(PROGRAMS),
        }
    }
}

/// Without trusted users.
#[cfg(test)]
impl Default for AdmissionLimits {
    fn default() -> Self {
        Self::new(Arc::new(|_| false))
    }
}

/// Requests that wait for each other. A user may take half of the places.
const fn expensive_requests_rule(places: u64, bytes: u64) -> Rule {
    Rule {
        ordinary: Limits { places, bytes },
        each: Limits { places: places / 2, bytes: bytes / 4 },
        waiting_each: WAITING_EACH,
        wait_max: WAIT_MAX,
        code: "too_many_requests",
        message: "too many requests are in progress, yours or those of all users",
        hint: "wait for answers before sending more requests, or ask for less: `kantctl queue \
               --user`, one `kantctl watch` for many jobs, an array or `kantctl submit --batch` for \
               many submissions",
    }
}

const SEARCHES: Rule = Rule {
    ordinary: places(1),
    each: places(1),
    waiting_each: 0,
    wait_max: Duration::ZERO,
    code: "search_runs",
    message: "another search for moves is running, and only one runs at a time",
    hint: "try again when it has ended, within 20 s",
};

const WATCHES: Rule = Rule {
    ordinary: places(u64::MAX),
    each: places(WATCHES_EACH),
    waiting_each: 0,
    wait_max: Duration::ZERO,
    code: "too_many_watchers",
    message: "you already have 8 watches, which is the limit",
    hint: "end some of them; one `kantctl watch` takes many jobs: `kantctl watch 42 43 44`, \
           `kantctl watch --me`",
};

const PROGRAMS: Rule = Rule {
    ordinary: places(PROGRAMS_MAX),
    each: places(PROGRAMS_MAX / 4),
    waiting_each: 0,
    wait_max: Duration::ZERO,
    code: "too_many_requests",
    message: "too many requests of programs are in progress, your own or those of all users",
    hint: "wait for answers before sending more requests",
};

const fn places(places: u64) -> Limits {
    Limits { places, bytes: u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    const ROOT: u32 = 0;

    fn limits() -> AdmissionLimits {
        AdmissionLimits::new(Arc::new(|uid| uid == ROOT))
    }

    #[test]
    fn a_user_gets_half_of_the_places_and_root_gets_some_in_any_case() {
        let limits = limits();
        for (limiter, expected) in [
            (&limits.lists, [4, 2, 1, 4]),
            (&limits.forecasts, [1, 1, 0, 1]),
            (&limits.requests, [8, 4, 2, 8]),
            (&limits.watches, [8; 4]),
            (&limits.programs, [64, 64, 64, 64]),
        ] {
            let mut held = Vec::new();
            let counts = [1, 2, 3, ROOT].map(|uid| {
                let before = held.len();
                held.extend(std::iter::from_fn(|| limiter.take(uid).ok()));
                held.len() - before
            });
            assert_eq!(counts, expected);
        }
    }

    #[tokio::test]
    async fn there_is_one_search_at_a_time_and_a_refusal_says_when_to_try_again() {
        let limits = limits();
        let first = limits.searches.acquire(1).await.unwrap();
        for uid in [1, 2, ROOT] {
            let refusal = limits.searches.acquire(uid).await.unwrap_err();
            assert_eq!(refusal.status, StatusCode::TOO_MANY_REQUESTS);
            let seconds = SEARCH_TIME_MAX.as_secs();
            assert!(refusal.error.hint.unwrap().contains(&format!("{seconds} s")));
        }
        drop(first);
        limits.searches.acquire(2).await.unwrap();
    }
}
