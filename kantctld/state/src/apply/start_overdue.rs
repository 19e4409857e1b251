//! `StartOverdue`: ends an attempt that has been starting for too long, as by a fault of its nodes.
//! One that got on, or ended, meanwhile stays as it is. Counts against no node: a file system that
//! hangs for all would drain them all, and a job's own pipe any that it meets.

use crate::event::Event;
use crate::fault::START_MAX;
use crate::life::{self, Ending};
use crate::overdue;
use crate::remembered::State;
use common::hostlist;
use common::id::AttemptId;
use common::job::Outcome;
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // one shape for all commands
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
) -> Result<(), Refusal> {
    let Some(behind) = overdue::behind(state, id, state.now) else { return Ok(()) };
    let requeue = state.job(id.key.job).is_some_and(|record| record.spec.ask.requeue);
    let message = format!("did not begin to run within {START_MAX} on {}", hostlist::fold(&behind));
    if behind.iter().any(|node| life::keep_off(state, events, id, node, &message)) {
        return Ok(());
    }
    let failed = Ending::new(Outcome::LaunchFailed);
    let ending = Ending { requeue, message: Some(message), fault: true, ..failed };
    life::ended(state, events, id.key, ending);
    Ok(())
}
