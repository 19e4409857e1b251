//! Advice for a job that waits for other jobs, or whose dependencies can no longer be satisfied.

use super::waiting::Waiting;
use common::reason::Awaited;

/// For a job whose dependencies are not satisfied yet.
pub(super) fn open_dependency_advice(waiting: &Waiting<'_>, open: &[Awaited]) -> String {
    let key = waiting.job.key;
    let free = start_without_advice(waiting);
    match open.first() {
        Some(Awaited { until: Some(_), .. }) => format!("nothing: it waits for its time; {free}"),
        Some(Awaited { on, .. }) => {
            format!("nothing: it waits for job {on} (`kantctl explain {on}`); {free}")
        }
        None => format!("`kantctl show {key}` says which; {free}"),
    }
}

pub(super) fn never_met_advice(waiting: &Waiting<'_>, failed: &[Awaited]) -> String {
    let again = failed.first().map(|awaited| awaited.on);
    let again = again.filter(|on| waiting.state.element(*on).is_some());
    let again = again.map(|on| format!("`kantctl requeue {on}` runs that one again; "));
    let (again, free, key) =
        (again.unwrap_or_default(), start_without_advice(waiting), waiting.job.key);
    format!("{again}{free}; or `kantctl cancel {key}`")
}

/// How it can start without them. The change applies to all tasks of an array.
fn start_without_advice(waiting: &Waiting<'_>) -> String {
    let job = waiting.job.key.job;
    format!("`kantctl update {job} --dependency=none` lets it start without")
}
