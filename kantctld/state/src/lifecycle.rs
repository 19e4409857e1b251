//! The life of an attempt: its start, the phases of its shares, its end, and what follows. This is
//! the only code that moves a job from phase to phase, and each move causes an event. The phases
//! are described in docs/decisions/0001-job-states-and-events.md. Permissions are checked by the
//! callers.

mod advance;
mod checkpoint;
mod decide;
mod fault;
mod grow;
mod late;
mod measured;
mod preempt;
mod resize;
pub(crate) mod set;
mod start;
mod suspend;

use crate::event::{Event, ShareNews};
use crate::job::{End, LastRank, Run, SharePhase};
use crate::replicas;
use crate::state::State;
use crate::texts;
use common::id::{AttemptId, JobKey, NodeName, Uid};
use common::job::state::Change;
use common::job::{EndCause, ExitStatus, Outcome, Preempted, STEPS_REPORTED_MAX, StepEnd};
use common::wire::node::{StepPhase, StepStatus};

use advance::finish_or_requeue;
pub(crate) use checkpoint::checkpoint;
pub(crate) use grow::{grow, turn_away_node};
pub(crate) use measured::unreported_end;
pub(crate) use preempt::preempt;
pub(crate) use resize::{shrink, shrink_for_preemptor};
pub use set::components;
pub(crate) use start::{start, start_together};
pub(crate) use suspend::{resume, suspend};

/// How and why an attempt ends.
#[derive(Clone)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) requeue: bool,
    pub(crate) by: Option<Uid>,
    pub(crate) preempted: Option<Preempted>,
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) message: Option<String>,
    /// The job did not cause it.
    pub(crate) fault: bool,
}

impl Ending {
    /// An end that no user asked for, without details and without a requeue.
    pub(crate) const fn new(outcome: Outcome) -> Self {
        let (by, preempted, exit, message) = (None, None, None, None);
        Self { outcome, requeue: false, by, preempted, exit, message, fault: false }
    }

    /// An end that a user asked for.
    pub(crate) fn by_user(by: Uid, requeue: bool) -> Self {
        Self { requeue, by: Some(by), ..Self::new(Outcome::Cancelled) }
    }
}

/// Processes a node's report on one step. A report that is unknown, outdated or repeated changes
/// nothing: the node learns from its desired state that it must drop the step.
pub(crate) fn process_report(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    status: &StepStatus,
) {
    let (to, news) = match &status.phase {
        StepPhase::Preparing => (SharePhase::Preparing, ShareNews::Preparing),
        StepPhase::Ready => (SharePhase::Ready, ShareNews::Ready),
        StepPhase::Running { .. } => (SharePhase::Running, ShareNews::Running),
        StepPhase::Ended(end) => return end_share(state, events, node, status.id, end),
    };
    let Some((rank, from)) = share_rank_and_phase(state, status.id, node) else { return };
    if from.is_over() || to <= from {
        return;
    }
    let Some(run) = run_mut(state, status.id.key) else { return };
    run.shares[rank] = to;
    run.last_rank = LastRank(u32::try_from(rank).unwrap_or_default());
    if to == SharePhase::Running {
        fault::reset_node_faults(state, node);
    }
    state.record_event(events, Event::StepReported { id: status.id, node: node.clone(), news });
    advance::advance(state, events, status.id, from);
    if to >= SharePhase::Ready {
        grow::join(state, events, status.id);
    }
}

/// Ends a share that its node has released, or is assumed to have released. Frees its resources and
/// decides what that means for the job.
pub(crate) fn end_share(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    id: AttemptId,
    end: &StepEnd,
) {
    let Some((rank, from)) = share_rank_and_phase(state, id, node) else {
        return late::complete_lost_attempt(state, events, node, id, end);
    };
    if from.is_over() {
        return;
    }
    // Only accounting needs the steps, so the state does not keep them.
    if rank == 0 && !end.steps.is_empty() {
        let steps = end.steps.iter().take(STEPS_REPORTED_MAX).cloned().collect();
        state.record_event(events, Event::JobStepsEnded { id, steps });
    }
    state.ledger.release(id, node);
    measured::record_share_end(state, id.key, rank, end);
    let leaves = from == SharePhase::Leaving;
    // A share that began and exited before its node reported it did run.
    let ran = end.started_at.is_some() && end.cause == EndCause::Exited;
    let is_turned_away = !ran && grow::is_joining(state, id.key, rank);
    if is_turned_away {
        grow::did_not_join(state, events, id, rank, end.message.as_deref());
    }
    let Some(run) = run_mut(state, id.key) else { return };
    run.last_rank = LastRank(u32::try_from(rank).unwrap_or_default());
    match (leaves, is_turned_away) {
        (true, _) => run.drop_share(rank),
        (false, true) => {}
        (false, false) => run.shares[rank] = SharePhase::from_end(end.cause, end.exit),
    }
    run.usage = run.usage.and(end.usage);
    let news = ShareNews::Ended(end.cause, end.exit);
    state.record_event(events, Event::StepReported { id, node: node.clone(), news });
    match leaves || is_turned_away {
        // The job was to go on without this share, so its end decides nothing.
        true => decide::complete_if_rest_succeeded(state, events, id),
        false => decide::decide(state, events, id, rank, end),
    }
    fault::count_node_fault(state, events, node, id, end);
    advance::advance(state, events, id, from);
    grow::join(state, events, id);
    finish_or_requeue(state, events, id.key);
}

/// Decides the end of a running attempt, and with it the end of all components of its set. Their
/// nodes stop what is left of it.
pub(crate) fn end_attempt(state: &mut State, events: &mut Vec<Event>, key: JobKey, ending: Ending) {
    let message = set::set_end_message(state, key, ending.outcome);
    for other in set::others(state, key) {
        end_one(state, events, other, Ending { message: message.clone(), ..ending.clone() });
    }
    end_one(state, events, key, ending);
    finish_or_requeue(state, events, key);
}

fn end_one(state: &mut State, events: &mut Vec<Event>, key: JobKey, ending: Ending) {
    let decided_at = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.transition(Change::End) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    let Ending { outcome, requeue, by, preempted, exit, message, fault } = ending;
    run.end_suspension(decided_at);
    // Nodes that are still joining do not affect the outcome.
    run.turn_away(0);
    let asked = by.is_some();
    run.end = Some(End { outcome, requeue, decided_at, fault, asked, preempted, exit, message });
    let nodes = run.holding_nodes();
    state
        .record_event(events, Event::JobEnded { id, outcome, exit, by, preempted, requeue, nodes });
}

/// Changes an end that was decided but not carried out: cancels a job that would be requeued, or
/// the reverse. Returns false if nothing changes.
pub(crate) fn change_end(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    by: Uid,
    requeue: bool,
) -> bool {
    let Some(element) = state.element_mut(key) else { return false };
    let id = element.attempt_id(key);
    let Some(end) = element.run.as_mut().and_then(|run| run.end.as_mut()) else { return false };
    // A requeue on request is not the same as one after a fault: it has no delay.
    if end.requeue == requeue && !(requeue && end.fault) {
        return false;
    }
    (end.outcome, end.requeue, end.asked) = (Outcome::Cancelled, requeue, true);
    (end.fault, end.preempted) = (false, None);
    if let Some(element) = state.element_mut(key) {
        element.moving = None;
    }
    let (outcome, by) = (Outcome::Cancelled, Some(by));
    state.record_event(events, Event::JobEndChanged { id, outcome, by, requeue });
    true
}

/// Ends a waiting job that has not started, with all components of its set.
pub(crate) fn drop_waiting(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    outcome: Outcome,
    by: Option<Uid>,
) {
    for key in set::components(state, key) {
        let Some(element) = state.element_mut(key) else { continue };
        if element.transition(Change::Drop) {
            finish(state, events, key, outcome, by);
        }
    }
}

/// Requeues a finished job.
pub(crate) fn revive(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some(element) = state.element_mut(key) else { return };
    if element.transition(Change::Requeue) {
        wait_again(state, events, key, None);
    }
}

/// Completes the transition to Done. The phase is set already.
fn finish(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    outcome: Outcome,
    by: Option<Uid>,
) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    (element.outcome, element.done_at, element.faults) = (Some(outcome), Some(now), None);
    element.moving = None;
    if let Some(run) = &mut element.run {
        run.shares = Vec::new();
        measured::clamp_to_end(run);
    }
    let attempt = element.attempt;
    measured::note_run_time(state, key, outcome);
    state.set_alive(key, false);
    if state.is_all_done(key.job) {
        texts::mark_job_finished(state, key.job);
    }
    state.record_event(events, Event::JobDone { key, attempt, outcome, by });
    replicas::note_replica_end(state, key, outcome);
}

/// Completes the return to the queue, which after a fault comes with a delay. `end` is the end of
/// the last attempt, unless the job was already Done. The phase is set already. The job keeps its
/// place, which is ordered by submission.
fn wait_again(state: &mut State, events: &mut Vec<Event>, key: JobKey, end: Option<&End>) {
    let now = state.now;
    texts::mark_job_unfinished(state, key.job);
    let Some(element) = state.element_mut(key) else { return };
    element.run.iter_mut().for_each(|run| measured::clamp_to_end(run));
    element.archive_attempt(element.done_at.unwrap_or(now));
    (element.outcome, element.done_at) = (None, None);
    let attempt = element.attempt;
    state.set_alive(key, true);
    let preempted_by = end.and_then(|end| end.preempted).map(|preempted| preempted.by);
    state.record_event(events, Event::JobRequeued { key, attempt, preempted_by });
    match end.filter(|end| end.fault) {
        Some(end) => fault::delay(state, events, key, end),
        None => forget_faults(state, key),
    }
}

/// A requeue that no fault caused resets the count of faults.
fn forget_faults(state: &mut State, key: JobKey) {
    if let Some(element) = state.element_mut(key) {
        element.faults = None;
    }
}

/// The rank and phase of a node's share, if the attempt is the current one and holds resources.
pub(crate) fn share_rank_and_phase(
    state: &State,
    id: AttemptId,
    node: &NodeName,
) -> Option<(usize, SharePhase)> {
    let (_, element) = state.element(id.key)?;
    if element.attempt != id.attempt || !element.phase.holds_resources() {
        return None;
    }
    let run = element.run.as_ref()?;
    let rank = run.rank(node)?;
    Some((rank, *run.shares.get(rank)?))
}

fn run_mut(state: &mut State, key: JobKey) -> Option<&mut Run> {
    state.element_mut(key)?.run.as_deref_mut()
}
