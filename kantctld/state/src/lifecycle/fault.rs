//! The consequences of a fault: the job waits a while or is held, and the node is drained if its
//! faults continue.

use crate::event::Event;
use crate::fault::{Faults, NodeFaults, short};
use crate::job::End;
use crate::state::State;
use common::health::DrainCause;
use common::id::{AttemptId, JobKey, NodeName, Uid};
use common::job::{EndCause, StepEnd};
use common::node::Drain;
use common::reason::Note;

/// The user to which drains after faults are attributed.
const SYSTEM: Uid = Uid(0);

/// Delays the next attempt of a job that was requeued after a fault, or holds the job.
pub(super) fn delay(state: &mut State, events: &mut Vec<Event>, key: JobKey, end: &End) {
    let Some(element) = state.element_mut(key) else { return };
    let before = element.faults.as_deref();
    let faults = Faults::with_one_more(before, end.decided_at, end.message.as_deref());
    let (in_a_row, until, why) = (faults.in_a_row, faults.not_before, faults.why.clone());
    let enough = faults.are_too_many();
    element.held |= enough;
    element.faults = Some(Box::new(faults));
    let event = if enough {
        Event::JobHeldForFaults { key, in_a_row, why }
    } else {
        Event::JobDelayed { key, until, why }
    };
    state.record_event(events, event);
}

/// Resets the faults of a node on which a share began to run, since it can start jobs.
pub(super) fn reset_node_faults(state: &mut State, node: &NodeName) {
    if let Some(node) = state.nodes.get_mut(node) {
        node.start_faults = NodeFaults::default();
    }
}

/// Counts a fault against the node and drains it after too many, so that one faulty node cannot
/// fail job after job.
pub(super) fn count_node_fault(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &NodeName,
    id: AttemptId,
    end: &StepEnd,
) {
    let is_clear = match end.cause {
        EndCause::NodeFault => true,
        EndCause::UnclearFault => false,
        _ => {
            if end.started_at.is_some() {
                reset_node_faults(state, name);
            }
            return;
        }
    };
    let since = state.now;
    let Some(user) = state.job(id.key.job).map(|record| record.spec.owner.uid) else { return };
    let Some(node) = state.nodes.get_mut(name) else { return };
    node.start_faults.note(user, is_clear);
    if !node.start_faults.should_drain() || node.drain.is_some() {
        return;
    }
    let why = end.message.as_deref().map(short);
    let in_a_row = node.start_faults.in_a_row;
    let reason = Note::FailedStarts { in_a_row, why: why.as_deref() }.to_string();
    node.drain =
        Some(Drain { reason: reason.clone(), by: SYSTEM, since, cause: DrainCause::FailedStarts });
    events.push(Event::NodeDrained { name: name.clone(), by: SYSTEM, reason });
}
