//! When and how tasks that are left are ended: SIGTERM, patience, SIGKILL. Never ends them itself.

use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Between SIGTERM and SIGKILL for tasks that are to end.
const GRACE: Duration = Duration::from_secs(10);
/// Longer than this nobody waits: a number of that size is as good as never.
const WAIT_MAX_SECONDS: u64 = 1 << 32;
/// A second Ctrl-C within this time is meant.
const TWICE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    at: Instant,
    /// What they are told.
    pub signal: Signal,
}

impl Stop {
    pub fn now() -> Self {
        Self { at: Instant::now(), signal: Signal::SIGTERM }
    }

    /// Soon: they were told by other means.
    pub fn soon() -> Self {
        Self { at: Instant::now() + TWICE, signal: Signal::SIGTERM }
    }

    /// In so many seconds.
    pub fn after(seconds: u64) -> Self {
        let patience = Duration::from_secs(seconds.min(WAIT_MAX_SECONDS));
        Self { at: Instant::now() + patience, signal: Signal::SIGTERM }
    }

    /// After this one: SIGKILL, again and again.
    pub fn next(self) -> Option<Self> {
        Some(Self { at: Instant::now() + GRACE, signal: Signal::SIGKILL })
    }
}

/// Returns when it is time.
pub async fn due(stop: Option<&Stop>) {
    match stop {
        Some(stop) => sleep_until(stop.at).await,
        None => std::future::pending().await,
    }
}

/// How often Ctrl-C was pressed.
#[derive(Debug, Default)]
pub struct Interrupts {
    last: Option<Instant>,
    count: u32,
}

impl Interrupts {
    /// Once more: the first, or the second or third within the time.
    pub fn next(&mut self) -> u32 {
        let now = Instant::now();
        let is_soon = self.last.is_some_and(|last| now.duration_since(last) <= TWICE);
        // Once it was meant, it stays so.
        self.count = if is_soon || self.count >= 2 { self.count + 1 } else { 1 };
        self.last = Some(now);
        self.count
    }
}
