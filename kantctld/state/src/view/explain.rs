//! `kantctl explain`: why a job is where it is, in sentences, and what to do about it.
//! Never guesses: what the last round and the engine's forecast do not say is not said.

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
use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;
use common::wire::api::Explanation;
use engine::Snapshot;

/// Why a job is where it is. Of an array: how many tasks wait for what, and more of its first
/// waiting task, or else of its first. `snapshot` is the cluster as the engine sees it at `now`.
/// Plays rounds in virtual time to say when a waiting job will start: not for where time matters.
/// `None`: there is no such job.
#[must_use]
pub fn explain(
    state: &State,
    key: JobKey,
    waits: &Waits,
    snapshot: &Snapshot,
    now: Time,
) -> Option<Explanation> {
    let record = state.job(key.job)?;
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
    let job = job_view(state, key, waits)?;
    let mut expected_at = None;
    let (more, advice) = match job.phase {
        Phase::Pending => {
            let told = waiting::Waiting::new(state, &job, snapshot, now);
            expected_at = told.expected_at();
            set::told(state, &job, snapshot, told.told())
        }
        Phase::Done => living::over(&job),
        _ => living::living(state, &job, snapshot, now),
    };
    lines.extend(more);
    Some(Explanation { job, lines, advice, expected_at })
}
