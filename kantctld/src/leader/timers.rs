//! The loop of the leader's timers: once a second it acts on what [`lead::Watch`] returns as due.

use crate::core::Core;
use crate::session_registry::Wakeup;
use common::time::Span;
use futures_util::future::join_all;
use lead::timers::LOOK_PERIOD;
use lead::{Due, Limits, Watch};
use state::Command;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// The most timer commands in the log's queue at once.
const PROPOSALS_MAX: usize = 256;

/// The time between two parts of ending the tasks of a large array that cannot start any more, in
/// which other requests are served.
const BETWEEN_PARTS: Duration = Duration::from_millis(5);

/// Runs for one term; ends when dropped.
pub async fn run(core: &Core, limits: Limits) -> Infallible {
    let mut watch = Watch::new(limits);
    let begun = Instant::now();
    loop {
        let due = due_actions(core, &mut watch, begun.elapsed());
        let mut due = due.into_iter().peekable();
        while due.peek().is_some() {
            // Together, so that they share an entry: each alone would cost an fsync. In chunks, so
            // that other commands do not wait behind all tasks of an array that timed out.
            join_all(due.by_ref().take(PROPOSALS_MAX).map(|due| act_on_due(core, due))).await;
        }
        let pause = match core.state.read().has_hopeless() {
            true => BETWEEN_PARTS,
            false => Duration::from_millis(LOOK_PERIOD.0),
        };
        tokio::time::sleep(pause).await;
    }
}

fn due_actions(core: &Core, watch: &mut Watch, uptime: Duration) -> Vec<Due> {
    let uptime = Span(u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX));
    let now = core.now();
    let renewed = &core.renewed_leases;
    let renewed = std::mem::take(&mut *renewed.lock());
    watch.renew_leases(renewed);
    watch.due_actions(&core.state.read(), |name| core.sessions.presence(name), now, uptime)
}

async fn act_on_due(core: &Core, due: Due) {
    let command = match due {
        Due::EndSession(name) => return core.sessions.wake(&name, Wakeup::Replaced),
        Due::Propose(command) => command,
    };
    match &command {
        Command::NodeLost { name } => tracing::warn!("node {name} is lost: silent for too long"),
        Command::LeaseOver { key } => {
            tracing::info!("job {key} ends: its lease expired without a renewal");
        }
        Command::StartOverdue { id } => {
            tracing::warn!("job {id} failed to start in time: its nodes are faulty");
        }
        _ => {}
    }
    if let Err(error) = core.propose_command(command).await {
        tracing::debug!("a timer's command failed: {error}");
    }
}
