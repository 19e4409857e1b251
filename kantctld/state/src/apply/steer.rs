//! `SteerTasks`: a part of what was asked of all tasks of an array. As the command on one job, for
//! each of them; refused only if it went well for none. Never touches a task of another part.

use super::target;
use super::{cancel_job, hold_job, release_job, requeue_job, resume_job, suspend_job};
use crate::command::{Actor, SomeTasks, Steering};
use crate::event::Event;
use crate::remembered::State;
use common::id::JobKey;
use common::reason::Refusal;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    tasks: SomeTasks,
    how: Steering,
) -> Result<(), Refusal> {
    let keys = target::some(state, actor, tasks)?;
    match how {
        Steering::Cancel => cancel_job::each(state, events, actor, keys),
        Steering::Hold => hold_job::each(state, events, actor, keys),
        Steering::Release => release_job::each(state, events, actor, keys),
        Steering::Requeue => {
            let began_before = |key: &JobKey| {
                let run = state.element(*key).and_then(|(_, element)| element.run.as_ref());
                run.is_none_or(|run| run.allocated_at <= tasks.asked_at)
            };
            let keys = keys.into_iter().filter(began_before).collect();
            requeue_job::each(state, events, actor, keys)
        }
        Steering::Suspend => suspend_job::each(state, events, actor, keys),
        Steering::Resume => resume_job::each(state, events, actor, keys),
    }
}
