//! `StopReplica`: ends a replica that is no longer wanted. A replica that is already ending, or a
//! job that is no replica, is left alone.

use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::Refusal;
use common::service::{ServiceEventKind, StopReason};

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    why: StopReason,
) -> Result<(), Refusal> {
    let now = state.now;
    let Some((record, element)) = state.element(key) else { return Ok(()) };
    let Some(replica) = record.spec.ask.replica.clone() else { return Ok(()) };
    let owner = record.spec.owner.uid;
    match element.phase {
        Phase::Pending => lifecycle::drop_waiting(state, events, key, Outcome::Cancelled, None),
        Phase::Starting | Phase::Running | Phase::Suspended => {
            lifecycle::end_attempt(state, events, key, Ending::new(Outcome::Cancelled));
        }
        Phase::Completing => {
            // One that was preempted does not wait for room again, nor does the base that it is
            // part of.
            let mut is_changed = false;
            for component in lifecycle::set::components(state, key) {
                is_changed |= lifecycle::change_end(state, events, component, owner, false);
            }
            if !is_changed {
                return Ok(());
            }
        }
        Phase::Done => return Ok(()),
    }
    if let Some(service) = state.services.get_mut(&replica.service) {
        let (role, ordinal, job) = (replica.role.clone(), replica.ordinal, key.job);
        service.note(now, ServiceEventKind::ReplicaStopped { role, ordinal, job, why });
    }
    Ok(())
}
