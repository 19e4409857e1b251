//! Limits on concurrent expensive requests: lists, forecasts, move searches and large bodies, in
//! all and for each user.

use crate::concurrency_limit::{ConcurrencyLimit, Limits};
use std::sync::Arc;
use std::time::Duration;

/// The most lists made at once; further requests wait.
pub const LISTS_MAX: u32 = 8;
/// The most forecasts made at once: each may take a core for seconds.
const FORECASTS_MAX: u32 = 2;
/// The most large requests (up to 16 MiB each) read and carried out at once.
const REQUESTS_MAX: u32 = 16;
/// The most bytes of lists in memory that clients have not read yet; no list is started above it.
const LISTS_BYTES: u64 = 256 << 20;
/// Shorter than kantctl's timeout, so that the user sees the reason.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// The most waiting requests of one user.
const WAITING_PER_USER: u32 = 256;

#[derive(Debug)]
pub struct AdmissionLimits {
    pub lists: Arc<ConcurrencyLimit>,
    /// Simulations of future rounds.
    pub forecasts: Arc<ConcurrencyLimit>,
    /// Searches for moves: one at a time, and none waits.
    pub searches: Arc<ConcurrencyLimit>,
    /// Requests with large bodies.
    pub requests: Arc<ConcurrencyLimit>,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        let limit = |permits, bytes| {
            ConcurrencyLimit::new(Limits {
                permits,
                permits_per_user: permits / 2,
                bytes,
                bytes_per_user: bytes / 4,
                waiting_per_user: WAITING_PER_USER,
                wait_max: WAIT_MAX,
            })
        };
        Self {
            lists: limit(LISTS_MAX, LISTS_BYTES),
            forecasts: limit(FORECASTS_MAX, u64::MAX),
            searches: ConcurrencyLimit::new(Limits {
                permits: 1,
                permits_per_user: 1,
                bytes: u64::MAX,
                bytes_per_user: u64::MAX,
                waiting_per_user: 1,
                wait_max: Duration::ZERO,
            }),
            requests: limit(REQUESTS_MAX, u64::MAX),
        }
    }
}
