//! Commands that do the same to each addressed job: cancel, hold, release, requeue, suspend and
//! resume. They address a job, all tasks of an array, or a range of its tasks. They are refused
//! only if they fail for every job.

use super::target;
use super::{cancel_job, hold_job, release_job, requeue_job, resume_job, suspend_job};
use crate::command::{Actor, Command, SomeTasks, Steering};
use crate::event::Event;
use crate::remembered::State;
use common::id::JobKey;
use common::reason::Refusal;

/// A command to a job, or to all tasks of an array.
pub(super) fn all(
    state: &mut State,
    events: &mut Vec<Event>,
    command: &Command,
) -> Result<(), Refusal> {
    let Some((actor, target, how)) = command.steering() else { return Ok(()) };
    check_who(actor, how)?;
    let keys = target::keys(state, actor, target)?;
    each(state, events, actor, keys, how)
}

/// `SteerTasks`: a part of a command to all tasks of an array. Tasks of other parts are not
/// touched.
pub(super) fn some(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    tasks: SomeTasks,
    how: Steering,
) -> Result<(), Refusal> {
    check_who(actor, how)?;
    let mut keys = target::some(state, actor, tasks)?;
    if how == Steering::Requeue {
        keys.retain(|key| {
            let run = state.element(*key).and_then(|(_, element)| element.run.as_ref());
            run.is_none_or(|run| run.allocated_at <= tasks.asked_at)
        });
    }
    each(state, events, actor, keys, how)
}

const fn check_who(actor: &Actor, how: Steering) -> Result<(), Refusal> {
    match how {
        Steering::Suspend | Steering::Resume => target::operators_only(actor),
        Steering::Cancel | Steering::Hold | Steering::Release | Steering::Requeue => Ok(()),
    }
}

fn each(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
    how: Steering,
) -> Result<(), Refusal> {
    match how {
        Steering::Cancel => cancel_job::apply(state, events, actor, keys),
        Steering::Hold => hold_job::apply(state, events, actor, keys),
        Steering::Release => release_job::apply(state, events, actor, keys),
        Steering::Requeue => requeue_job::apply(state, events, actor, keys),
        Steering::Suspend => suspend_job::apply(state, events, actor, keys),
        Steering::Resume => resume_job::apply(state, events, actor, keys),
    }
}
