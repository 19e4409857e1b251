//! How to change a waiting job, as a command: by an update where that is possible, otherwise by
//! another submission. Other queues are suggested only if they admit the job and it would start
//! earlier there.

use super::waiting::Waiting;
use common::job::{Ask, Phase};
use common::policy::queue::Queue;
use common::time::Time;
use engine::WaitingJob;

/// The maximum number of other queues that are tried. Each takes as long as `explain` itself.
const QUEUES_MAX: usize = 4;

/// Changes these options of `kantctl submit`.
pub(super) fn change_options_advice(waiting: &Waiting<'_>, options: &str) -> String {
    let key = waiting.job.key;
    match may_be_updated(waiting) {
        true => format!("`kantctl update {} {options}`", key.job),
        false => format!("`kantctl cancel {key}`, and submit it again with {options}"),
    }
}

/// The tasks of an array share one request, and some may have started.
fn may_be_updated(waiting: &Waiting<'_>) -> bool {
    let record = waiting.state.job(waiting.job.key.job);
    record.is_some_and(|record| record.elements.values().all(|e| e.phase == Phase::Pending))
}

/// Moves the job to another queue, as a phrase after an "or": of the queues tried, the one with the
/// earliest start, if that is earlier than in its own queue. `None` if no queue is better.
pub(super) fn move_queue_advice(waiting: &Waiting<'_>) -> Option<String> {
    let (state, snapshot) = (waiting.state, waiting.snapshot);
    let record = state.job(waiting.job.key.job)?;
    let (ask, job) = (&record.spec.ask, snapshot.waiting_job(waiting.job.key)?);
    let is_open = |queue: &&Queue| {
        let there = Ask { queue: Some(queue.name.clone()), hold: false, ..ask.clone() };
        ask.queue.as_ref() != Some(&queue.name)
            && state::check_could_wait(state, record, false, &there).is_ok()
            && state::snapshot::never_fits(state, snapshot, &there).is_none()
    };
    let starts = |queue: &Queue| {
        let there = WaitingJob { queue: queue.name.clone(), ..job.as_ref().clone() };
        let outlook = engine::what_if(snapshot, waiting.now, there);
        let later = outlook.expected_at.filter(|_| !outlook.bounded);
        outlook.starts_on.map(|_| waiting.now).or(later)
    };
    let open = state.queues().iter().filter(is_open).take(QUEUES_MAX);
    let mut best: Option<(Time, &Queue)> = None;
    for queue in open {
        let Some(at) = starts(queue) else { continue };
        if best.is_none_or(|(known, _)| at < known) {
            best = Some((at, queue));
        }
        if at <= waiting.now {
            break;
        }
    }
    let (at, queue) = best?;
    if waiting.expected_at().is_some_and(|here| here <= at) {
        return None;
    }
    let when = match at <= waiting.now {
        true => "it would start now".to_owned(),
        false => format!("it is expected to start at about {at}"),
    };
    let change = change_options_advice(waiting, &format!("--queue={}", queue.name));
    Some(format!("move it to queue {}, where {when}: {change}", queue.name))
}
