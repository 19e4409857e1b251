//! The loop for mail that time triggers. Mail about events is written where entries are applied.

use crate::core::Core;
use lead::TimeLimitMarks;
use std::convert::Infallible;
use std::time::Duration;

/// Runs for one term; ends when dropped.
pub async fn run(core: &Core) -> Infallible {
    if !core.mail.is_open() {
        return std::future::pending().await;
    }
    let mut marks = TimeLimitMarks::default();
    loop {
        let now = core.now();
        let notifications = marks.check(&core.state.read(), now);
        core.mail.enqueue(notifications);
        tokio::time::sleep(Duration::from_millis(TimeLimitMarks::EVERY.0)).await;
    }
}
