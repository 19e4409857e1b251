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
    match shorter {
        Some(limit) => format!(
            "{} (or less), or give it a later --deadline",
            change::to(waiting, &format!("--time={limit}"))
        ),
        None => format!("give it a later one: {}", change::to(waiting, "--deadline=...")),
    }
}

/// It still starts in time if others end early.
pub(super) fn may_miss(waiting: &Waiting<'_>, deadline: Time) -> String {
    format!(
        "wait: it starts if jobs end early; else it ends unstarted (state DEADLINE) at {deadline}. \
         To be sure, {}",
        in_time(waiting, deadline)
    )
}

/// No end of other jobs helps any more.
pub(super) fn too_late(waiting: &Waiting<'_>, deadline: Time) -> String {
    format!(
        "it can no longer be over in time, and ends unstarted (state DEADLINE) at {deadline}: {}",
        in_time(waiting, deadline)
    )
}
