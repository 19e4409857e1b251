//! Advice for a job that may miss its deadline.

use super::waiting::Waiting;
use super::{change, length};
use common::time::Time;

/// Changes that make it end in time, counted from the time when there is room.
fn finish_in_time_advice(waiting: &Waiting<'_>, deadline: Time) -> String {
    let starts = waiting.start_without_deadline();
    let shorter = starts.and_then(|starts| match starts <= waiting.now {
        true => length::limit_within(deadline.since(starts)),
        false => length::limit_until(deadline.since(starts)),
    });
    let later = match starts.zip(waiting.job.ask.time_limit) {
        Some((starts, limit)) => {
            // One hour more than it should take, in whole hours.
            let hours = (starts + limit).since(waiting.now).seconds() / 3600 + 2;
            let change =
                change::change_options_advice(waiting, &format!("--deadline=now+{hours}hours"));
            format!("give it a later deadline, like {change}")
        }
        None => "give it a later --deadline".to_owned(),
    };
    match shorter {
        Some(limit) => format!(
            "if that is time enough, {}, or {later}",
            change::change_options_advice(waiting, &format!("--time={limit}"))
        ),
        None => later,
    }
}

/// For a job that can still start in time if other jobs end early, unless it waits for something
/// else.
pub(super) fn may_miss_advice(waiting: &Waiting<'_>, deadline: Time) -> String {
    let hope = match waiting.waits_for_jobs() {
        true => "wait: it starts if jobs end early; else it",
        false => "as things are, it",
    };
    format!(
        "{hope} ends unstarted (state DEADLINE) at {deadline}. To be sure that it runs: {}",
        finish_in_time_advice(waiting, deadline)
    )
}

/// For a job that can no longer end by its deadline.
pub(super) fn too_late_advice(waiting: &Waiting<'_>, deadline: Time) -> String {
    format!(
        "as it is, it ends unstarted (state DEADLINE) at {deadline}. To run it after all: {}",
        finish_in_time_advice(waiting, deadline)
    )
}
