//! Waits for a condition, with a deadline and a sentence for when it does not come. Never sleeps
//! for a fixed time in the hope that something has happened meanwhile.

use anyhow::bail;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only failures wait this long.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
///
/// # Errors
/// After [`DEADLINE`], naming what was awaited; or the question's own error.
pub fn wait_for<T>(
    what: &str,
    ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    wait_until(Instant::now() + DEADLINE, what, ask)
}

/// The same, with a deadline of the caller's.
///
/// # Errors
/// As [`wait_for`].
pub fn wait_until<T>(
    deadline: Instant,
    what: &str,
    mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            bail!("waited in vain for {what}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
