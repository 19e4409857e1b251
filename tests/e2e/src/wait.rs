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
    mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            bail!("waited {} s in vain for {what}", DEADLINE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
