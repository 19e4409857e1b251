//! The loop over terms of leadership. Rounds and timers run only within a term and start fresh with
//! each: all they need follows from the state and the sessions.

use super::{Limits, cluster_key, notifications, rules_level, scheduler, services, timers};
use crate::core::{CommandError, Core};
use crate::raft::ProposeError;
use crate::reload::Reloader;
use common::reason::Refusal;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// The pause before settings that the log did not accept are proposed again.
const CONFIGURE_PAUSE: Duration = Duration::from_secs(1);

/// Periods and limits of a term.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The longest time between two rounds.
    pub round_period: Duration,
    pub limits: Limits,
}

/// Leads whenever this controller is the leader; returns only if the settings are refused.
///
/// # Errors
/// The state's refusal of the settings: keeping the old ones would hide the error.
pub async fn run(
    core: Arc<Core>,
    reloader: Arc<Reloader>,
    pace: Pace,
) -> Result<Infallible, Refusal> {
    let mut leading = core.leading.clone();
    while leading.wait_for(|leads| *leads).await.is_ok() {
        tokio::select! {
            ended = run_term(&core, &reloader, pace) => return ended,
            _ = leading.changed() => {}
        }
        core.note_serving(false);
        tracing::warn!("this controller no longer leads");
    }
    // The log ended, and its thread reports why.
    std::future::pending().await
}

async fn run_term(
    core: &Arc<Core>,
    reloader: &Reloader,
    pace: Pace,
) -> Result<Infallible, Refusal> {
    // The settings may need a level that is not in force yet.
    tokio::select! {
        configured = configure(core, reloader) => configured?,
        never = rules_level::run(core, reloader) => match never {},
    }
    let (shared, now) = (core.clone(), core.now());
    let restart = move || shared.scheduler_cache.begin_term(&shared.state, now);
    let restarted = tokio::task::spawn_blocking(restart);
    let Ok(scheduler_term) = restarted.await else {
        // Only while the process ends.
        return std::future::pending().await;
    };
    services::forget_node_reports(core);
    core.note_serving(true);
    tracing::info!("this controller leads");
    tokio::select! {
        never = scheduler::run(core, scheduler_term, pace.round_period) => match never {},
        never = timers::run(core, pace.limits) => match never {},
        never = notifications::run(core) => match never {},
        never = services::run(core) => match never {},
        never = cluster_key::run(core) => match never {},
        never = rules_level::run(core, reloader) => match never {},
    }
}

/// Puts the settings in force, retrying until the log accepts them.
async fn configure(core: &Core, reloader: &Reloader) -> Result<(), Refusal> {
    loop {
        let error = match reloader.begin_leading(core.is_only_controller()).await {
            Ok(()) => break,
            Err(CommandError::Refused(refusal)) => return Err(refusal),
            Err(CommandError::NotTaken(error)) => error,
        };
        if error == ProposeError::Stopped {
            return std::future::pending().await;
        }
        tracing::warn!("failed to put the settings in force, trying again: {error}");
        tokio::time::sleep(CONFIGURE_PAUSE).await;
    }
    for warning in reloader.warnings() {
        tracing::warn!("configuration: {warning}");
    }
    Ok(())
}
