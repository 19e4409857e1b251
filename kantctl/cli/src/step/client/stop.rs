//! Ending of the remaining tasks: when, and with which signal.

use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// The longest waiting time; larger values would overflow, and mean never.
const WAIT_MAX_SECONDS: u64 = 1 << 32;
/// A second Ctrl-C within this time ends the tasks.
const TWICE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    at: Instant,
    pub signal: Signal,
}

impl Stop {
    pub fn now() -> Self {
        Self { at: Instant::now(), signal: Signal::SIGTERM }
    }

    /// After a moment, because SIGINT was sent already.
    pub fn soon() -> Self {
        Self { at: Instant::now() + TWICE, signal: Signal::SIGTERM }
    }

    pub fn after(seconds: u64) -> Self {
        let patience = Duration::from_secs(seconds.min(WAIT_MAX_SECONDS));
        Self { at: Instant::now() + patience, signal: Signal::SIGTERM }
    }

    /// The next stage: SIGKILL, repeatedly.
    pub fn next_stage(self) -> Option<Self> {
        Some(Self { at: Instant::now() + GRACE, signal: Signal::SIGKILL })
    }
}

/// Returns when it is time for the signal.
pub async fn wait_until_due(stop: Option<&Stop>) {
    match stop {
        Some(stop) => sleep_until(stop.at).await,
        None => std::future::pending().await,
    }
}

/// Counts presses of Ctrl-C.
#[derive(Debug, Default)]
pub struct Interrupts {
    last: Option<Instant>,
    count: u32,
}

impl Interrupts {
    /// Counts one more: 1 if it is the first within the time, otherwise 2 and more.
    pub fn count_next(&mut self) -> u32 {
        let now = Instant::now();
        let is_soon = self.last.is_some_and(|last| now.duration_since(last) <= TWICE);
        // After the second, every further one counts.
        self.count = if is_soon || self.count >= 2 { self.count + 1 } else { 1 };
        self.last = Some(now);
        self.count
    }
}
