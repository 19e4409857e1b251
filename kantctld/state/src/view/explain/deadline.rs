//! What to do about a job that its deadline may come before. Never says that it is lost while it
//! may still start.

use super::waiting::Waiting;
use super::{change, length};
use common::time::Time;

/// What makes it end in time, counted from when there is room.
fn in_time(waiting: &Waiting<'_>, deadline: Time) -> String {
    let starts = waiting.without_deadline();
    let shorter = starts.and_then(|starts| match starts <= waiting.now {
        true => length::limit_within(deadline.since(starts)),
        false => length::limit_until(deadline.since(starts)),
    });
    let later = match starts.zip(waiting.job.ask.time_limit) {
        Some((starts, limit)) => {
            // An hour more than it should take, in whole hours.
            let hours = (starts + limit).since(waiting.now).seconds() / 3600 + 2;
            let change = change::to(waiting, &format!("--deadline=now+{hours}hours"));
            format!("give it a later deadline, like {change}")
        }
        None => "give it a later --deadline".to_owned(),
    };
    match shorter {
        Some(limit) => format!(
            "if that is time enough, {}, or {later}",
            change::to(waiting, &format!("--time={limit}"))
        ),
        None => later,
    }
}

/// It still starts in time if others end early, unless it is for something else that it waits.
pub(super) fn may_miss(waiting: &Waiting<'_>, deadline: Time) -> String {
    let hope = match waiting.waits_for_jobs() {
        true => "wait: it starts if jobs end early; else it",
        false => "as things are, it",
    };
    format!(
        "{hope} ends unstarted (state DEADLINE) at {deadline}. To be sure that it runs: {}",
        in_time(waiting, deadline)
    )
}

/// No end of other jobs helps any more.
pub(super) fn too_late(waiting: &Waiting<'_>, deadline: Time) -> String {
    format!(
        "as it is, it ends unstarted (state DEADLINE) at {deadline}. To run it after all: {}",
        in_time(waiting, deadline)
    )
}
