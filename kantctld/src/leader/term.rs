//! One term of leading after another. What acts (rounds, timers) runs only within a term and begins
//! anew with each: all of it follows from the state and the sessions. Never hands anything from
//! term to term.

use super::{Limits, letters, scheduler, timers};
use crate::core::{CommandError, Core};
use crate::raft::ProposeError;
use crate::settings::Reloader;
use common::reason::Refusal;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Before the settings are proposed again when the log did not take them.
const CONFIGURE_PAUSE: Duration = Duration::from_secs(1);

/// What terms are measured by.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A round at least so often.
    pub round_period: Duration,
    pub limits: Limits,
}

/// Leads whenever the log says that this controller does; ends only with a refusal.
///
/// # Errors
/// The state's refusal of the settings: going on with the old ones would be a silent default.
pub async fn run(
    core: Arc<Core>,
    reloader: Arc<Reloader>,
    pace: Pace,
) -> Result<Infallible, Refusal> {
    let mut leading = core.leading.clone();
    while leading.wait_for(|leads| *leads).await.is_ok() {
        tokio::select! {
            ended = term(&core, &reloader, pace) => return ended,
            _ = leading.changed() => {}
        }
        core.note_serving(false);
        tracing::warn!("this controller leads no more");
    }
    // The log ended, and whoever waits for that says why.
    std::future::pending().await
}

async fn term(core: &Arc<Core>, reloader: &Reloader, pace: Pace) -> Result<Infallible, Refusal> {
    configure(core, reloader).await?;
    let (looker, now) = (core.clone(), core.now());
    let restart = move || looker.lookout.restart(&looker.state, now);
    let restarted = tokio::task::spawn_blocking(restart);
    let Ok(lookout_term) = restarted.await else {
        // Only while the process ends.
        return std::future::pending().await;
    };
    core.note_serving(true);
    tracing::info!("this controller leads");
    tokio::select! {
        never = scheduler::run(core, lookout_term, pace.round_period) => match never {},
        never = timers::run(core, pace.limits) => match never {},
        never = letters::run(core) => match never {},
    }
}

/// Sees to the settings in force, as often as it takes.
async fn configure(core: &Core, reloader: &Reloader) -> Result<(), Refusal> {
    loop {
        let error = match reloader.take_office(core.is_lone()).await {
            Ok(()) => break,
            Err(CommandError::Refused(refusal)) => return Err(refusal),
            Err(CommandError::NotTaken(error)) => error,
        };
        if error == ProposeError::Stopped {
            return std::future::pending().await;
        }
        tracing::warn!("the settings are not in force yet: {error}");
        tokio::time::sleep(CONFIGURE_PAUSE).await;
    }
    for warning in reloader.warnings() {
        tracing::warn!("configuration: {warning}");
    }
    Ok(())
}
