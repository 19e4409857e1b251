//! `kantctl explain`: the state of a job in sentences, with advice. It reports only what follows
//! from the last round and the engine's forecast.

mod advice;
mod awaited;
mod bounded;
mod change;
mod deadline;
mod elastic;
mod held;
mod length;
mod less;
mod living;
mod outage;
mod sentence;
mod set;
mod shared;
mod start;
mod tasks;
mod waiting;

use super::{Waits, job_view};
use crate::viewer::Viewer;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;
use common::wire::api::{Explanation, JobView};
use engine::Snapshot;
use state::State;

/// The state of a job without a word about jobs of others: its reason in general words, and when it
/// is expected to start; how it ended.
fn explain_without_others(
    (job, expected_at): (JobView, Option<Time>),
    mut lines: Vec<String>,
) -> Explanation {
    let mut advice = None;
    match job.phase {
        Phase::Pending => lines.extend(job.reason.as_ref().map(|reason| reason.sentence.clone())),
        Phase::Done => {
            let (more, what_to_do) = living::explain_done(&job);
            lines.extend(more);
            advice = what_to_do;
        }
        _ => lines.push(format!("it is {}", job.state)),
    }
    Explanation { job, lines, advice, expected_at }
}

/// Explains the state of a job. For an array it counts the tasks by reason, and explains its first
/// waiting task, or else its first task. `snapshot` is the cluster as the engine sees it at `now`.
/// To forecast the start of a waiting job it simulates rounds, so it must not run where time
/// matters. `None` if there is no such job.
#[must_use]
pub fn explain(
    state: &State,
    viewer: &Viewer,
    key: JobKey,
    waits: &Waits,
    snapshot: &Snapshot,
    now: Time,
) -> Option<Explanation> {
    let record = state.job(key.job).filter(|record| viewer.sees(record))?;
    let mut lines = Vec::new();
    let key = if record.elements.contains_key(&key.index) {
        key
    } else if key.index.is_none() {
        let waiting = record.elements.iter().find(|(_, e)| e.phase == Phase::Pending);
        let key = record.key(*waiting.or(record.elements.iter().next())?.0);
        lines.extend(tasks::summary(record, waits, key));
        key
    } else {
        return None;
    };
    let job = job_view(state, &Viewer::ALL, key, waits)?;
    if viewer.hides_jobs() {
        // The forecast needs the whole reason.
        let is_pending = job.phase == Phase::Pending;
        let waiting = is_pending.then(|| waiting::Waiting::new(state, &job, snapshot, now));
        let expected_at = waiting.and_then(|waiting| waiting.expected_at());
        let job = job_view(state, viewer, key, waits)?;
        return Some(explain_without_others((job, expected_at), lines));
    }
    let mut expected_at = None;
    let (more, advice) = match job.phase {
        Phase::Pending => {
            let waiting = waiting::Waiting::new(state, &job, snapshot, now);
            expected_at = waiting.expected_at();
            set::with_set_lines(state, &job, snapshot, waiting.lines_and_advice())
        }
        Phase::Done => living::explain_done(&job),
        _ => living::explain_started(state, &job, snapshot, now),
    };
    lines.extend(more);
    Some(Explanation { job, lines, advice, expected_at })
}
