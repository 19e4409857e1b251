//! `StartOverdue`: ends an attempt that has been starting for too long, as by a fault of its nodes.
//! An attempt that has made progress or ended meanwhile is left alone. The fault does not count
//! against any node: a file system that hangs everywhere would drain them all, and a job that
//! blocks on its own pipe would drain every node that it gets.

use crate::event::Event;
use crate::fault::START_MAX;
use crate::lifecycle::{self, Ending};
use crate::overdue;
use crate::state::State;
use common::id::AttemptId;
use common::job::Outcome;
use common::reason::{Note, Refusal};

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
) -> Result<(), Refusal> {
    let Some(behind) = overdue::nodes_farthest_behind(state, id, state.now) else { return Ok(()) };
    let requeue = state.job(id.key.job).is_some_and(|record| record.spec.ask.requeue);
    let message = Note::StartOverdue { most: START_MAX, nodes: &behind }.to_string();
    if behind.iter().any(|node| lifecycle::turn_away_node(state, events, id, node, &message)) {
        return Ok(());
    }
    let failed = Ending::new(Outcome::LaunchFailed);
    let ending = Ending { requeue, message: Some(message), fault: true, ..failed };
    lifecycle::end_attempt(state, events, id.key, ending);
    Ok(())
}
