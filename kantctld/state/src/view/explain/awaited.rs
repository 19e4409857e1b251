//! What to do about a job that waits for other jobs, or for what cannot come any more. Never a
//! command that would not help.

use super::waiting::Waiting;
use common::reason::Awaited;

/// They are not as far.
pub(super) fn open(waiting: &Waiting<'_>, open: &[Awaited]) -> String {
    let key = waiting.job.key;
    let free = free(waiting);
    match open.first() {
        Some(Awaited { until: Some(_), .. }) => format!("nothing: it waits for its time; {free}"),
        Some(Awaited { on, .. }) => {
            format!("nothing: it waits for job {on} (`kantctl explain {on}`); {free}")
        }
        None => format!("`kantctl show {key}` says which; {free}"),
    }
}

pub(super) fn never(waiting: &Waiting<'_>, failed: &[Awaited]) -> String {
    let again = failed.first().map(|awaited| awaited.on);
    let again = again.filter(|on| waiting.state.element(*on).is_some());
    let again = again.map(|on| format!("`kantctl requeue {on}` runs that one again; "));
    let (again, free, key) = (again.unwrap_or_default(), free(waiting), waiting.job.key);
    format!("{again}{free}; or `kantctl cancel {key}`")
}

/// How it starts without them: what it asks for is changed for all tasks of an array at once.
fn free(waiting: &Waiting<'_>) -> String {
    let job = waiting.job.key.job;
    format!("`kantctl update {job} --dependency=none` lets it start without")
}
