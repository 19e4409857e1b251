//! How a waiting job is changed, as a command: in its place where that is possible, else submitted
//! again. Never names a queue that would not let the job in.

use super::waiting::Waiting;
use common::job::{Ask, Phase};
use common::queue::Queue;

/// So many other queues are named.
const QUEUES_MAX: usize = 3;

/// Gives the job these options of `kantctl submit` instead of what it has.
pub(super) fn to(waiting: &Waiting<'_>, options: &str) -> String {
    let key = waiting.job.key;
    match may_be_updated(waiting) {
        true => format!("`kantctl update {} {options}`", key.job),
        false => format!("`kantctl cancel {key}`, and submit it again with {options}"),
    }
}

/// The tasks of an array share what was asked for, and some may have started.
fn may_be_updated(waiting: &Waiting<'_>) -> bool {
    let record = waiting.state.job(waiting.job.key.job);
    record.is_some_and(|record| record.elements.values().all(|e| e.phase == Phase::Pending))
}

/// Moves it to another queue, as what follows an "or". `None`: no other would have it.
pub(super) fn of_queue(waiting: &Waiting<'_>) -> Option<String> {
    let state = waiting.state;
    let record = state.job(waiting.job.key.job)?;
    let ask = &record.spec.ask;
    let is_open = |queue: &&Queue| {
        let there = Ask { queue: Some(queue.name.clone()), ..ask.clone() };
        ask.queue.as_ref() != Some(&queue.name)
            && crate::may_wait(state, record, false, &there).is_ok()
            && engine::could_ever_fit(waiting.snapshot, queue, &ask.request, ask.service).is_ok()
    };
    let names: Vec<&str> =
        state.queues().iter().filter(is_open).map(|queue| queue.name.as_str()).collect();
    let first = names.first()?;
    let change = to(waiting, &format!("--queue={first}"));
    Some(match names.len() {
        1 => format!("move it to queue {first}: {change}"),
        2..=QUEUES_MAX => format!("move it to queue {}: {change}", names.join(" or ")),
        _ => format!("move it to another queue (`kantctl queues`): {change}"),
    })
}
