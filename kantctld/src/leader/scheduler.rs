//! The scheduler's loop: catch up, run a round, propose its result. The engine decides, and the
//! state checks again when it applies.

use crate::core::Core;
use crate::scheduler_cache::Term;
use state::{Command, Event};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time between two rounds caused by time alone.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(100);

/// The pause after a round of which the state refused an entry.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// The pause after a round that failed.
const FAILED_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Command(#[from] crate::core::CommandError),
    #[error("the scheduler stopped during the round")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Runs for one term: a round after each change, and at least one every `period`. Ends when
/// dropped.
pub async fn run(core: &Arc<Core>, term: Term, period: Duration) -> Infallible {
    // Work left from the last term is due now.
    core.wake.notify_one();
    loop {
        // A round is due whether woken or timed out.
        let due = core.scheduler_cache.idle_for(core.now()).map_or(period, |idle| {
            Duration::from_millis(idle.0).clamp(LOOK_PAUSE_MIN, period.max(LOOK_PAUSE_MIN))
        });
        let _ = tokio::time::timeout(due, core.wake.notified()).await;
        if let Err(error) = round(core, term).await {
            tracing::warn!("a scheduling round failed: {error}");
            core.scheduler_cache.force_round();
            tokio::time::sleep(FAILED_PAUSE).await;
            core.wake.notify_one();
        }
    }
}

async fn round(core: &Arc<Core>, term: Term) -> Result<(), RoundError> {
    let between_rounds = core.between_rounds.lock().await;
    let (now, shared, begun) = (core.now(), core.clone(), Instant::now());
    // A round uses a core for a while: not on a thread that serves sockets.
    let decided =
        tokio::task::spawn_blocking(move || shared.scheduler_cache.round(term, &shared.state, now))
            .await?;
    core.round_stats.note_decided(begun.elapsed());
    let Some(command) = decided else { return Ok(()) };
    if let Command::EnactRound { preempts, shrinks, starts, grows } = &command {
        let (starts, preempts) = (starts.len(), preempts.len());
        let (shrinks, grows) = (shrinks.len(), grows.len());
        core.round_stats.note_enacted(starts, preempts);
        tracing::debug!(
            "a round starts {starts} jobs, preempts {preempts}, shrinks {shrinks} and grows {grows}"
        );
    }
    let mut is_refused = false;
    let mut parts = lead::split_round(command, lead::round_parts::STARTS_MAX);
    while let Some(part) = parts.pop_front() {
        let events = core.propose_command(part).await?;
        is_refused |= events.iter().any(|event| matches!(event, Event::RoundEntryRefused { .. }));
        if !parts.is_empty() {
            // Thousands of starts cause many events; they are applied part by part.
            let (now, shared) = (core.now(), core.clone());
            let update =
                move || shared.scheduler_cache.apply_pending_events(term, &shared.state, now);
            tokio::task::spawn_blocking(update).await?;
        }
    }
    drop(between_rounds);
    if is_refused {
        // The state had changed: decide again on the new one, but not in a busy loop.
        tokio::time::sleep(REFUSED_PAUSE).await;
        core.wake.notify_one();
    }
    Ok(())
}
