//! Commands that do the same to each addressed job: cancel, hold, release, requeue, suspend and
//! resume. They address a job, all tasks of an array, or a range of its tasks. They are refused
//! only if they fail for every job.

use super::target;
use super::{cancel_job, hold_job, release_job, requeue_job, resume_job, suspend_job};
use crate::command::{Actor, BulkAction, Command, SomeTasks};
use crate::event::Event;
use crate::state::State;
use common::id::JobKey;
use common::reason::Refusal;
use common::right::Right;

/// A command to a job, to all tasks of an array, or to some of them.
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    command: &Command,
) -> Result<(), Refusal> {
    if let Command::ActOnTasks { actor, tasks, how } = command {
        return act_on_tasks(state, events, actor, *tasks, *how);
    }
    let Some((actor, target, how)) = command.bulk_action() else { return Ok(()) };
    check_actor(actor, how)?;
    let keys = target::addressed_keys(state, actor, how.right(), target)?;
    act_on_jobs(state, events, actor, keys, how)
}

/// `ActOnTasks`: a part of a command to all tasks of an array. Tasks of other parts are not
/// touched.
fn act_on_tasks(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    tasks: SomeTasks,
    how: BulkAction,
) -> Result<(), Refusal> {
    check_actor(actor, how)?;
    let mut keys = target::addressed_tasks(state, actor, how.right(), tasks)?;
    if how == BulkAction::Requeue {
        keys.retain(|key| {
            let run = state.element(*key).and_then(|(_, element)| element.run.as_ref());
            run.is_none_or(|run| run.allocated_at <= tasks.asked_at)
        });
    }
    act_on_jobs(state, events, actor, keys, how)
}

/// A right that depends on no job is checked first.
fn check_actor(actor: &Actor, how: BulkAction) -> Result<(), Refusal> {
    match how.right() {
        Right::Operate => target::operators_only(actor),
        _ => Ok(()),
    }
}

fn act_on_jobs(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    keys: Vec<JobKey>,
    how: BulkAction,
) -> Result<(), Refusal> {
    match how {
        BulkAction::Cancel => cancel_job::apply(state, events, actor, keys),
        BulkAction::Hold => hold_job::apply(state, events, actor, keys),
        BulkAction::Release => release_job::apply(state, events, actor, keys),
        BulkAction::Requeue => requeue_job::apply(state, events, actor, keys),
        BulkAction::Suspend => suspend_job::apply(state, events, actor, keys),
        BulkAction::Resume => resume_job::apply(state, events, actor, keys),
    }
}
