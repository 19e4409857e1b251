//! Looks at the clock once a second while this controller leads, and does what [`lead::Watch`] says
//! is due. Never decides what that is.

use crate::core::Core;
use crate::hub::Nudge;
use common::time::Span;
use futures_util::future::join_all;
use lead::timers::LOOK_PERIOD;
use lead::{Due, Limits, Watch};
use state::Command;
use std::convert::Infallible;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The most commands that wait for the log at once.
const TOGETHER_MAX: usize = 256;

/// Until the next tasks of a large array are ended that cannot start any more: others have their
/// turn meanwhile.
const BETWEEN_PARTS: Duration = Duration::from_millis(5);

/// Runs for one term of leading; ends when it is dropped.
pub async fn run(core: &Core, limits: Limits) -> Infallible {
    let mut watch = Watch::new(limits);
    let begun = Instant::now();
    loop {
        let due = look(core, &mut watch, begun.elapsed());
        let mut due = due.into_iter().peekable();
        while due.peek().is_some() {
            // Together, so that they share an entry; one by one would take an fsync each. No more
            // than that, or others would wait behind all tasks of an array whose time is over.
            join_all(due.by_ref().take(TOGETHER_MAX).map(|due| act(core, due))).await;
        }
        let pause = match core.state.read().has_hopeless() {
            true => BETWEEN_PARTS,
            false => Duration::from_millis(LOOK_PERIOD.0),
        };
        tokio::time::sleep(pause).await;
    }
}

fn look(core: &Core, watch: &mut Watch, uptime: Duration) -> Vec<Due> {
    let uptime = Span(u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX));
    let now = core.now();
    let heard = &core.spoken_for;
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    watch.speak_for(heard);
    watch.look(&core.state.read(), |name| core.hub.standing(name), now, uptime)
}

async fn act(core: &Core, due: Due) {
    let command = match due {
        Due::EndSession(name) => return core.hub.nudge(&name, Nudge::Replaced),
        Due::Propose(command) => command,
    };
    match &command {
        Command::NodeLost { name } => tracing::warn!("node {name} is lost: silent for too long"),
        Command::LeaseOver { key } => {
            tracing::info!("job {key} ends: nobody has spoken for it as long as its lease is");
        }
        Command::StartOverdue { id } => {
            tracing::warn!("job {id} does not get off the ground: its nodes have a fault");
        }
        _ => {}
    }
    if let Err(error) = core.command(command).await {
        tracing::debug!("a timer's command came to nothing: {error}");
    }
}
