//! The scheduler's loop: catch up, round, judge, propose. Never decides (the engine does) and
//! never enacts (the state does, checking again).

use crate::core::Core;
use crate::lookout::Term;
use state::{Command, Event};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks that nothing but time brings about.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(100);

/// Before the next round when the state refused an entry of this one.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Before the next round when this one came to nothing.
const FAILED_PAUSE: Duration = Duration::from_millis(500);

/// Why a round came to nothing.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Command(#[from] crate::core::CommandError),
    #[error("the scheduler stopped in the middle of it")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Runs for one term of leading: a round whenever something happened, and at least every `period`.
/// Ends when it is dropped.
pub async fn run(core: &Arc<Core>, term: Term, period: Duration) -> Infallible {
    // What was due in the time before is due now.
    core.wake.notify_one();
    loop {
        // Woken or timed out, a look is due either way.
        let due = core.lookout.idle_for(core.now()).map_or(period, |idle| {
            Duration::from_millis(idle.0).clamp(LOOK_PAUSE_MIN, period.max(LOOK_PAUSE_MIN))
        });
        let _ = tokio::time::timeout(due, core.wake.notified()).await;
        if let Err(error) = round(core, term).await {
            tracing::warn!("a round came to nothing: {error}");
            core.lookout.look_again();
            tokio::time::sleep(FAILED_PAUSE).await;
            core.wake.notify_one();
        }
    }
}

async fn round(core: &Arc<Core>, term: Term) -> Result<(), RoundError> {
    let between_rounds = core.between_rounds.lock().await;
    let (now, looker) = (core.now(), core.clone());
    // Scheduling takes a core for a while: not on a thread that serves sockets.
    let decided =
        tokio::task::spawn_blocking(move || looker.lookout.round(term, &looker.state, now)).await?;
    let Some(command) = decided else { return Ok(()) };
    if let Command::EnactRound { preempts, shrinks, starts, grows } = &command {
        let (starts, preempts) = (starts.len(), preempts.len());
        let (shrinks, grows) = (shrinks.len(), grows.len());
        tracing::debug!(
            "a round starts {starts} jobs, {preempts} yield, {shrinks} give nodes up, {grows} grow"
        );
    }
    let mut is_refused = false;
    let mut parts = lead::in_parts(command, lead::parts::STARTS_MAX);
    while let Some(part) = parts.pop_front() {
        let events = core.command(part).await?;
        is_refused |= events.iter().any(|event| matches!(event, Event::RoundEntryRefused { .. }));
        if !parts.is_empty() {
            // What thousands of starts led to is not taken up at once either.
            let (now, looker) = (core.now(), core.clone());
            let follow = move || looker.lookout.follow(term, &looker.state, now);
            tokio::task::spawn_blocking(follow).await?;
        }
    }
    drop(between_rounds);
    if is_refused {
        // The state had moved on; decide again on what is true now, though not in a hot loop.
        tokio::time::sleep(REFUSED_PAUSE).await;
        core.wake.notify_one();
    }
    Ok(())
}
