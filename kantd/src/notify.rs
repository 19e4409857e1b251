//! What systemd is told (man 3 sd_notify): ready, still alive, stopping. Without systemd all of it
//! does nothing. Never decides whether kantd is well; the runner's answers do.

use crate::runner::Word;
use sd_notify::NotifyState;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The spool is adopted and the local socket listens.
pub fn ready() {
    tell(NotifyState::Ready);
}

/// kantd stops; its jobs go on.
pub fn stopping() {
    tell(NotifyState::Stopping);
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "failed to notify systemd");
    }
}

/// Keeps systemd's watchdog quiet as long as the runner answers. Ends only with the runner.
pub async fn watchdog(runner: mpsc::Sender<Word>) {
    // Without a watchdog the runner is asked all the same, rarely: one path instead of two.
    let limit = sd_notify::watchdog_enabled().unwrap_or(Duration::from_secs(60));
    loop {
        let (answer, answered) = oneshot::channel();
        if runner.send(Word::AreYouThere(answer)).await.is_err() || answered.await.is_err() {
            return;
        }
        tell(NotifyState::Watchdog);
        tokio::time::sleep(limit / 3).await;
    }
}
