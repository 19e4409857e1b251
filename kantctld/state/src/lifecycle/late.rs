//! A success that is reported after its node was given up. If no other attempt has nodes yet, the
//! job need not run again.

use super::{finish, measured};
use crate::event::Event;
use crate::job::{Element, Past, Run};
use crate::state::State;
use common::id::{AttemptId, NodeName};
use common::job::state::Change;
use common::job::{EndCause, Launch, Outcome, Phase, StepEnd};

/// Completes a waiting job whose last attempt was lost with this node, and had succeeded there.
pub(super) fn complete_lost_attempt(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    id: AttemptId,
    end: &StepEnd,
) {
    let now = state.now;
    let Some((record, element)) = state.element(id.key) else { return };
    let launch = record.spec.ask.launch;
    let succeeded =
        end.cause == EndCause::Exited && end.exit.is_success() && end.started_at.is_some();
    // The components of a set ended together, and a service has started another replica.
    let is_lone = record.set.is_none() && record.spec.ask.replica.is_none();
    let decides = last_run(element, id).is_some_and(|run| was_decided_by(run, launch, node));
    if !(succeeded && is_lone && decides) {
        return;
    }
    let Some(element) = state.element_mut(id.key) else { return };
    if !element.transition(Change::Drop) {
        return;
    }
    let Some(mut run) = take_last(element) else { return };
    measured::correct_times(&mut run, end, now);
    run.usage = run.usage.and(end.usage);
    if let Some(decided) = &mut run.end {
        (decided.outcome, decided.requeue, decided.fault) = (Outcome::Completed, false, false);
        (decided.exit, decided.message) = (Some(end.exit), None);
    }
    element.run = Some(Box::new(run));
    let (outcome, by, requeue) = (Outcome::Completed, None, false);
    state.record_event(events, Event::JobEndChanged { id, outcome, by, requeue });
    finish(state, events, id.key, outcome, None);
}

/// The run of this attempt, if the job waits after it was lost.
fn last_run(element: &Element, id: AttemptId) -> Option<&Run> {
    let is_last = element.phase == Phase::Pending && element.attempt == id.attempt;
    let last = element.past().last().filter(|last| is_last && last.attempt == id.attempt)?;
    let end = last.run.end.as_ref()?;
    (end.outcome == Outcome::NodeLost && end.fault && !end.asked).then_some(&last.run)
}

/// Whether success on this node alone is the success of the job.
fn was_decided_by(run: &Run, launch: Launch, node: &NodeName) -> bool {
    let alone = run.allocation.shares().len() == 1;
    let decides = match launch {
        Launch::Once => true,
        Launch::PerNode | Launch::PerTask => alone,
        // Success comes by a command.
        Launch::Held => false,
    };
    decides && run.rank(node) == Some(0)
}

fn take_last(element: &mut Element) -> Option<Run> {
    let Past(past) = element.earlier.as_mut()?.as_mut();
    let last = past.pop();
    if past.is_empty() {
        element.earlier = None;
    }
    last.map(|last| last.run)
}
