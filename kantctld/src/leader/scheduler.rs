//! The scheduler's loop: snapshot, round, judge, propose. Never decides (the engine does) and
//! never enacts (the state does, checking again).

use crate::core::Core;
use common::time::Time;
use engine::{Decision, Round, Snapshot};
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
    let now = core.now();
    let state = core.state.read().clone();
    // Scheduling takes a core for a while: not on a thread that serves sockets.
    let round = tokio::task::spawn_blocking(move || {
        let snapshot = state::snapshot::snapshot(&state);
        let round = engine::schedule(&snapshot, now);
        judged(&snapshot, now, round)
    })
    .await?;
    core.note_waits(state::view::waits(&round));
    let starts = state::snapshot::round_starts(&round.decisions);
    if starts.is_empty() {
        return Ok(());
    }
    tracing::debug!("a round starts {} jobs", starts.len());
    let events = core.command(Command::EnactRound { preempts: Vec::new(), starts }).await?;
    if events.iter().any(|event| matches!(event, Event::RoundEntryRefused { .. })) {
        // The state had moved on; decide again on what is true now, though not in a hot loop.
        tokio::time::sleep(REFUSED_PAUSE).await;
        core.wake.notify_one();
    }
    Ok(())
}

/// The round without what the judge does not pass: a defect that costs the jobs it touches, and
/// nobody else.
fn judged(snapshot: &Snapshot, now: Time, mut round: Round) -> Round {
    let violations = engine::check::check(snapshot, now, &round.decisions);
    for violation in &violations {
        tracing::error!("the judge found a defect of the scheduler, please report it: {violation}");
    }
    if !violations.is_empty() {
        let guilty = |decision: &Decision| match decision {
            Decision::Start { key, .. } => violations.iter().any(|v| v.key == *key),
            _ => true,
        };
        round.decisions.retain(|decision| !guilty(decision));
    }
    round
}
