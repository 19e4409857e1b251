//! Waiting for a condition with a deadline, instead of sleeping for a fixed time, and notes about a
//! test that is not run.

use anyhow::bail;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// Longer than any wait takes on a busy machine; only failing tests wait this long.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Prints past the test harness's capture, for readers of the CI output.
pub fn say(text: &str) {
    // A closed output is no failure.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Polls until there is an answer.
///
/// # Errors
/// After [`DEADLINE`], naming the awaited condition; or the error of the poll.
pub fn wait_for<T>(
    what: &str,
    ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    wait_until(Instant::now() + DEADLINE, what, ask)
}

/// Waits until no process has this pid.
///
/// # Errors
/// As [`wait_for`].
pub fn gone(pid: &str) -> anyhow::Result<()> {
    wait_for(&format!("the end of process {pid}"), || {
        Ok((!std::path::Path::new("/proc").join(pid).exists()).then_some(()))
    })
}

/// Polls until there is an answer, with the caller's deadline.
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
            bail!("timed out waiting for {what}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
