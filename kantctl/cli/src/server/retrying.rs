//! A count of requests that are being retried, so that only one of those that run at the same time
//! reports it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A request that is being retried.
pub struct Retrying<'a> {
    all: &'a AtomicUsize,
    pub since: Instant,
}

impl<'a> Retrying<'a> {
    pub fn new(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self { all, since: Instant::now() }
    }

    /// Whether it is the only one left.
    pub fn is_last(&self) -> bool {
        self.all.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Retrying<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}
