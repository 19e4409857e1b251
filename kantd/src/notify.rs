//! Notifications to systemd (man 3 sd_notify): ready, watchdog, stopping. Without systemd they do
//! nothing.

use crate::runner::RunnerMessage;
use sd_notify::NotifyState;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Reports that steps are adopted and the local socket listens.
pub fn ready() {
    notify(NotifyState::Ready);
}

/// Reports that kantd stops; its jobs run on.
pub fn stopping() {
    notify(NotifyState::Stopping);
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "failed to notify systemd");
    }
}

/// Feeds systemd's watchdog as long as the runner answers. Ends only with the runner.
pub async fn watchdog(runner: mpsc::Sender<RunnerMessage>) {
    // The runner is polled even without a watchdog, but rarely: one code path instead of two.
    let limit = sd_notify::watchdog_enabled().unwrap_or(Duration::from_secs(60));
    loop {
        let (answer, answered) = oneshot::channel();
        if runner.send(RunnerMessage::AreYouThere(answer)).await.is_err() || answered.await.is_err()
        {
            return;
        }
        notify(NotifyState::Watchdog);
        tokio::time::sleep(limit / 3).await;
    }
}
