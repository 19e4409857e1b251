//! What the end of one node's share means for its job. The first end decides; later ones complete
//! the picture. Never frees anything; that is done when this is asked.

use super::{Ending, ended, run_mut, set};
use crate::event::Event;
use crate::job::{Run, SharePhase};
use crate::remembered::State;
use common::id::{AttemptId, JobKey};
use common::job::{EndCause, ExitStatus, Launch, Outcome, Phase, StepEnd};

/// The longest message of a node that is kept.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Decides what the end of one share means for its job.
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
        return learn_more(state, events, id, exit, end, succeeded(run, launch, rank));
    }
    let outcome = match end.cause {
        // Nobody said that it is over, and no process of it could be.
        EndCause::Exited if launch == Launch::Held && end.exit.is_success() => Outcome::NodeLost,
        EndCause::Exited if end.exit.is_success() => {
            if !succeeded(run, launch, rank) {
                return;
            }
            Outcome::Completed
        }
        // Ranks beyond the first have no process under `Once`: their nodes merely let go.
        EndCause::Exited if launch == Launch::Once && rank != 0 => return,
        EndCause::Exited => Outcome::Failed,
        EndCause::TimedOut => Outcome::TimedOut,
        EndCause::OutOfMemory => Outcome::OutOfMemory,
        // The job's own doing or not, it did not launch.
        EndCause::LaunchFailed | EndCause::NodeFault | EndCause::UnclearFault => {
            Outcome::LaunchFailed
        }
        // Nobody asked for a stop: the node lost it in its own way.
        EndCause::Lost | EndCause::Stopped => Outcome::NodeLost,
    };
    let is_of_node = matches!(end.cause, EndCause::NodeFault | EndCause::UnclearFault);
    let fault = is_of_node || outcome == Outcome::NodeLost;
    let requeue = requeue && fault;
    let message = short(end.message.as_deref());
    let ending = Ending { requeue, exit, message, fault, ..Ending::new(outcome) };
    ended(state, events, id.key, ending);
}

/// Has the job succeeded, now that the share of this rank is over? Under `Once` the first node's
/// script decides; else all shares do.
fn succeeded(run: &Run, launch: Launch, rank: usize) -> bool {
    match launch {
        Launch::Once => rank == 0 && run.shares.first() == Some(&SharePhase::Succeeded),
        Launch::PerNode | Launch::PerTask => {
            // What joins it cannot go on alone.
            let mut stays = run.shares.iter().take(run.joiners().start);
            stays.all(|share| *share == SharePhase::Succeeded)
        }
        // Whoever holds it says so.
        Launch::Held => false,
    }
}

/// A job gives nodes up, or one of them is over: all that it goes on with may have succeeded.
pub(super) fn without_those_that_leave(state: &mut State, events: &mut Vec<Event>, id: AttemptId) {
    let Some((record, element)) = state.element(id.key) else { return };
    let Some(run) = element.run.as_ref().filter(|_| element.phase != Phase::Completing) else {
        return;
    };
    let launch = record.spec.ask.launch;
    let by_all = matches!(launch, Launch::PerNode | Launch::PerTask);
    if by_all && succeeded(run, launch, 0) {
        let exit = Some(ExitStatus::default());
        ended(state, events, id.key, Ending { exit, ..Ending::new(Outcome::Completed) });
    }
}

/// Another share of a job whose end is decided is over. What it says completes the picture; and a
/// job that was cancelled, made to yield, or taken off a node that is unfit, but succeeded before
/// the word reached it, did succeed.
fn learn_more(
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
    // A node that is lost, and not only unfit, is a fault.
    let taken_off = end.outcome == Outcome::NodeLost && !end.fault;
    if succeeded && (cancelled || taken_off || end.preempted.is_some()) {
        if taken_off {
            // Why it had to leave is no word about a job that succeeded.
            end.message = None;
        }
        has_succeeded(state, events, id.key);
        others.into_iter().for_each(|key| {
            if let Some(end) = run_mut(state, key).and_then(|run| run.end.as_mut()) {
                end.message = None;
            }
            has_succeeded(state, events, key);
        });
    }
}

/// Whatever end was decided, it had succeeded before.
fn has_succeeded(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(end) = element.run.as_mut().and_then(|run| run.end.as_mut()) else { return };
    (end.outcome, end.asked, end.requeue) = (Outcome::Completed, false, false);
    end.preempted = None;
    let (outcome, by, requeue) = (Outcome::Completed, None, false);
    state.tell(events, Event::JobEndChanged { id, outcome, by, requeue });
}

/// A node's words for people, of which the state keeps only so many.
fn short(message: Option<&str>) -> Option<String> {
    message.map(|text| text.chars().take(MESSAGE_CHARS_MAX).collect())
}
