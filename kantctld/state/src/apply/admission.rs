//! The rules that decide whether a job may wait in a queue at all: asked when it is submitted, and
//! again when it lives again. Never fills anything in.

use crate::remembered::State;
use common::id::Uid;
use common::job::Ask;
use common::queue::Queue;
use common::reason::Refusal;
use common::time::Span;

/// Root's jobs are welcome only where the operator says so.
///
/// # Errors
/// [`Refusal::RootJob`].
pub(super) fn check_owner(state: &State, owner: Uid) -> Result<(), Refusal> {
    let root_allowed = state.settings().is_some_and(|s| s.allow_root_jobs);
    if owner == Uid(0) && !root_allowed { Err(Refusal::RootJob) } else { Ok(()) }
}

/// The queue an ask names, or the default.
///
/// # Errors
/// [`Refusal::UnknownQueue`]; [`Refusal::BadAsk`] before the first configuration.
pub(super) fn find_queue<'a>(state: &'a State, ask: &Ask) -> Result<&'a Queue, Refusal> {
    let Some(name) = &ask.queue else {
        return state.queues().iter().find(|q| q.default).ok_or_else(|| Refusal::BadAsk {
            message: "the controller has no queues yet: try again in a moment".to_owned(),
        });
    };
    state.queue(name).filter(|queue| !state.is_retired(&queue.name)).ok_or_else(|| {
        let open = state.queues().iter().filter(|queue| !state.is_retired(&queue.name));
        let known: Vec<&str> = open.map(|queue| queue.name.as_str()).collect();
        Refusal::UnknownQueue { name: name.clone(), known: known.join(", ") }
    })
}

/// Does a queue allow this time limit?
///
/// # Errors
/// [`Refusal::TimeLimitTooLong`].
pub(super) fn check_time_limit(queue: &Queue, asked: Option<Span>) -> Result<(), Refusal> {
    match (queue.time_limit_max, asked) {
        (Some(limit), Some(asked)) if asked > limit => {
            Err(Refusal::TimeLimitTooLong { queue: queue.name.clone(), limit, asked })
        }
        _ => Ok(()),
    }
}
