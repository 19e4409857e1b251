//! What the end of one node's share means for its job. The first end decides the outcome; later
//! ones add details. The share's resources are already free at this point.

use super::{Ending, end_attempt, run_mut, set};
use crate::event::Event;
use crate::job::{Run, SharePhase};
use crate::state::State;
use common::id::{AttemptId, JobKey};
use common::job::{EndCause, ExitStatus, Launch, Outcome, Phase, StepEnd};

/// The maximum length of a node's message that is kept.
const MESSAGE_CHARS_MAX: usize = 1000;

pub(super) fn decide(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    rank: usize,
    end: &StepEnd,
) {
    let Some((record, element)) = state.element(id.key) else { return };
    let Some(run) = &element.run else { return };
    let (launch, requeue) = (record.spec.ask.launch, record.spec.ask.requeue);
    let exit = end.started_at.map(|_| end.exit);
    if element.phase == Phase::Completing {
        return add_end_details(state, events, id, exit, end, succeeded(run, launch, rank));
    }
    let outcome = match end.cause {
        // The command that ends the job has not come, and no process of the job could have exited.
        EndCause::Exited if launch == Launch::Held && end.exit.is_success() => Outcome::NodeLost,
        EndCause::Exited if end.exit.is_success() => {
            if !succeeded(run, launch, rank) {
                return;
            }
            Outcome::Completed
        }
        // Under `Once` ranks beyond the first have no process: their nodes only release their
        // shares.
        EndCause::Exited if launch == Launch::Once && rank != 0 => return,
        EndCause::Exited | EndCause::NotLive => Outcome::Failed,
        EndCause::TimedOut => Outcome::TimedOut,
        EndCause::OutOfMemory => Outcome::OutOfMemory,
        // The job did not launch, whether by its own fault or not.
        EndCause::LaunchFailed | EndCause::NodeFault | EndCause::UnclearFault => {
            Outcome::LaunchFailed
        }
        // No stop was requested: the node lost the share.
        EndCause::Lost | EndCause::Stopped => Outcome::NodeLost,
    };
    let is_of_node = matches!(end.cause, EndCause::NodeFault | EndCause::UnclearFault);
    let fault = is_of_node || outcome == Outcome::NodeLost;
    let requeue = requeue && fault;
    let message = short(end.message.as_deref());
    let ending = Ending { requeue, exit, message, fault, ..Ending::new(outcome) };
    end_attempt(state, events, id.key, ending);
}

/// Whether the job has succeeded, now that the share of this rank has ended. Under `Once` the first
/// node's script decides; otherwise all shares must have succeeded.
fn succeeded(run: &Run, launch: Launch, rank: usize) -> bool {
    match launch {
        Launch::Once => rank == 0 && run.shares.first() == Some(&SharePhase::Succeeded),
        Launch::PerNode | Launch::PerTask => {
            // Nodes that are still joining cannot continue alone.
            let mut stays = run.shares.iter().take(run.joining_ranks().start);
            stays.all(|share| *share == SharePhase::Succeeded)
        }
        // Success comes by a command.
        Launch::Held => false,
    }
}

/// Completes a job if all shares that it keeps have succeeded, after it gave nodes up or one of
/// those ended.
pub(super) fn complete_if_rest_succeeded(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
) {
    let Some((record, element)) = state.element(id.key) else { return };
    let Some(run) = element.run.as_ref().filter(|_| element.phase != Phase::Completing) else {
        return;
    };
    let launch = record.spec.ask.launch;
    let by_all = matches!(launch, Launch::PerNode | Launch::PerTask);
    if by_all && succeeded(run, launch, 0) {
        let exit = Some(ExitStatus::default());
        end_attempt(state, events, id.key, Ending { exit, ..Ending::new(Outcome::Completed) });
    }
}

/// Adds the details of another share to an end that is decided. If the job was cancelled,
/// preempted, or stopped because it lost a node, but succeeded before it could be stopped, its
/// outcome becomes Completed.
fn add_end_details(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    exit: Option<ExitStatus>,
    share_end: &StepEnd,
    succeeded: bool,
) {
    let others = set::others(state, id.key);
    let Some(end) = run_mut(state, id.key).and_then(|run| run.end.as_mut()) else { return };
    end.exit = end.exit.or(exit);
    if end.message.is_none() && share_end.cause != EndCause::Lost {
        end.message = short(share_end.message.as_deref());
    }
    let cancelled = end.asked && !end.requeue && end.outcome == Outcome::Cancelled;
    // The node of another share was lost, ended its share without a leader, or became unfit.
    let taken_off = end.outcome == Outcome::NodeLost;
    if succeeded && (cancelled || taken_off || end.preempted.is_some()) {
        if taken_off {
            // The reason of the stop does not concern a job that succeeded.
            end.message = None;
        }
        mark_succeeded(state, events, id.key);
        others.into_iter().for_each(|key| {
            if let Some(end) = run_mut(state, key).and_then(|run| run.end.as_mut()) {
                end.message = None;
            }
            mark_succeeded(state, events, key);
        });
    }
}

/// Replaces the decided end by a success.
fn mark_succeeded(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(end) = element.run.as_mut().and_then(|run| run.end.as_mut()) else { return };
    (end.outcome, end.asked, end.requeue) = (Outcome::Completed, false, false);
    end.fault = false;
    end.preempted = None;
    let (outcome, by, requeue) = (Outcome::Completed, None, false);
    state.record_event(events, Event::JobEndChanged { id, outcome, by, requeue });
}

/// Shortens a node's message to [`MESSAGE_CHARS_MAX`].
fn short(message: Option<&str>) -> Option<String> {
    message.map(|text| text.chars().take(MESSAGE_CHARS_MAX).collect())
}
