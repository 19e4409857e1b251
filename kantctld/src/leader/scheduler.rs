//! The scheduler's loop: snapshot, round, judge, propose. Never decides (the engine does) and
//! never enacts (the state does, checking again).

use crate::core::Core;
use common::time::Time;
use engine::{Round, Snapshot};
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
        // Woken or timed out, a round is due either way.
        let _ = tokio::time::timeout(period, core.wake.notified()).await;
        if let Err(error) = round(&core).await {
            tracing::warn!("a round came to nothing: {error}");
            if core.applied.has_changed().is_err() {
                return;
            }
        }
    }
}

/// Why a round came to nothing.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error("the judge found: {0}")]
    Judged(String),
    #[error(transparent)]
    Command(#[from] crate::core::CommandError),
    #[error("the scheduler stopped in the middle of it")]
    Stopped(#[from] tokio::task::JoinError),
}

async fn round(core: &Arc<Core>) -> Result<(), RoundError> {
    let now = core.now();
    let snapshot = state::snapshot::snapshot(&core.state.read());
    // Scheduling takes a core for a while: not on a thread that serves sockets.
    let (snapshot, round) = tokio::task::spawn_blocking(move || {
        let round = engine::schedule(&snapshot, now);
        (snapshot, round)
    })
    .await?;
    judge(&snapshot, now, &round)?;
    core.note_waits(state::view::waits(&round));
    let starts = state::snapshot::round_starts(&round.decisions);
    if starts.is_empty() {
        return Ok(());
    }
    tracing::debug!("a round starts {} jobs", starts.len());
    let events = core.command(Command::EnactRound { starts }).await?;
    if events.iter().any(|event| matches!(event, Event::RoundEntryRefused { .. })) {
        // The state had moved on; decide again on what is true now.
        core.wake.notify_one();
    }
    Ok(())
}

/// A round that the judge does not pass is not enacted, not even in part.
fn judge(snapshot: &Snapshot, now: Time, round: &Round) -> Result<(), RoundError> {
    let violations = engine::check::check(snapshot, now, &round.decisions);
    if violations.is_empty() {
        return Ok(());
    }
    let sentences: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Err(RoundError::Judged(sentences.join("; ")))
}
