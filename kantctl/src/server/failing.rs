//! Questions that have no answer for now, so that one voice speaks for all that are on their way at
//! once. Never speaks itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A question that has no answer for now.
pub struct Failing<'a> {
    all: &'a AtomicUsize,
    pub since: Instant,
}

impl<'a> Failing<'a> {
    pub fn one_more(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self { all, since: Instant::now() }
    }

    /// Is it the only one left?
    pub fn is_last(&self) -> bool {
        self.all.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}
