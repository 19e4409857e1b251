//! The scheduler's loop: catch up, round, judge, propose. Never decides (the engine does) and
//! never enacts (the state does, checking again).

use crate::core::Core;
use state::{Command, Event};
use std::sync::Arc;
use std::time::Duration;

/// Runs a round whenever something happened, and at least every `period`; only while leading.
/// Ends when the log does.
pub async fn run(core: Arc<Core>, period: Duration) {
    let mut leading = core.leading.clone();
    loop {
        if leading.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        // Woken or timed out, a look is due either way.
        let due = core.lookout.idle_for(core.now()).map_or(period, |idle| {
            Duration::from_millis(idle.0).clamp(LOOK_PAUSE_MIN, period.max(LOOK_PAUSE_MIN))
        });
        let _ = tokio::time::timeout(due, core.wake.notified()).await;
        if let Err(error) = round(&core).await {
            tracing::warn!("a round came to nothing: {error}");
            core.lookout.look_again();
            if core.applied.has_changed().is_err() {
                return;
            }
        }
    }
}

/// Between two looks that nothing but time brings about.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(100);

/// Before the next round when the state refused an entry of this one.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Why a round came to nothing.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Command(#[from] crate::core::CommandError),
    #[error("the scheduler stopped in the middle of it")]
    Stopped(#[from] tokio::task::JoinError),
}

async fn round(core: &Arc<Core>) -> Result<(), RoundError> {
    let (now, looker) = (core.now(), core.clone());
    // Scheduling takes a core for a while: not on a thread that serves sockets.
    let decided =
        tokio::task::spawn_blocking(move || looker.lookout.round(&looker.state, now)).await?;
    let Some(command) = decided else { return Ok(()) };
    if let Command::EnactRound { preempts, starts } = &command {
        tracing::debug!("a round starts {} jobs, {} yield", starts.len(), preempts.len());
    }
    let events = core.command(command).await?;
    if events.iter().any(|event| matches!(event, Event::RoundEntryRefused { .. })) {
        // The state had moved on; decide again on what is true now, though not in a hot loop.
        tokio::time::sleep(REFUSED_PAUSE).await;
        core.wake.notify_one();
    }
    Ok(())
}
