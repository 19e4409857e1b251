//! The limits on what a user's jobs take in the controller, and the texts of finished jobs, which
//! are dropped when they exceed them. The sums are in [`crate::footprint`].

use crate::footprint::Load;
use crate::job::Record;
use crate::state::State;
use common::id::{JobId, Uid};
use common::reason::{NoRoom, Refusal};
use common::unit::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The texts of finished jobs may take this fraction of a user's limit: one part in 16.
const OVER_PART: u64 = 16;

/// Checks that a user may have these jobs besides the unfinished ones.
///
/// # Errors
/// [`Refusal::NoRoom`].
pub(crate) fn check_room(state: &State, uid: Uid, loads: &[Load]) -> Result<(), Refusal> {
    let (held, all) = state.footprint.bytes_with(uid, loads);
    let limit = state.user_bounds().text;
    if all <= limit.0 {
        return Ok(());
    }
    let (held, more) = (Bytes(held), Bytes(all - held));
    Err(Refusal::NoRoom(NoRoom::TooMuchText { held, more, limit }))
}

/// Checks that a finished job can be requeued. It needs its script.
///
/// # Errors
/// [`Refusal::TextsGone`], and the errors of [`check_room`].
pub(crate) fn check_revival(state: &State, record: &Record) -> Result<(), Refusal> {
    if state.textless.contains(&record.id) {
        return Err(Refusal::TextsGone { job: record.id });
    }
    if !state.is_all_done(record.id) {
        return Ok(());
    }
    check_room(state, record.spec.owner.uid, &[Load::of_record(record, &state.blobs)])
}

/// Marks a job as finished.
pub(crate) fn mark_job_finished(state: &mut State, job: JobId) {
    if let Some(record) = state.jobs.get(&job) {
        state.footprint.mark_finished(record, &state.blobs);
    }
}

/// Drops texts of a user's finished jobs, the earliest first, until they are within the limit. Not
/// called when a job ends, since accounting reads the job after that.
pub(crate) fn prune_texts(state: &mut State, uid: Uid) {
    let most = state.user_bounds().text.0 / OVER_PART;
    while let Some(earliest) = state.footprint.next_without_texts(uid, most) {
        lose_texts(state, earliest);
    }
}

fn lose_texts(state: &mut State, job: JobId) {
    let Some(record) = state.jobs.get_mut(&job) else { return };
    state.footprint.lose_texts(record, &state.blobs);
    state.blobs.drop_use(&record.spec.script);
    state.blobs.drop_use(&record.spec.environment);
    if !record.spec.ask.args.is_empty() {
        Arc::make_mut(record).spec.ask.args = Vec::new();
    }
    state.textless.insert(job);
}

/// Marks a finished job as unfinished again, before its task is counted as such.
pub(crate) fn mark_job_unfinished(state: &mut State, job: JobId) {
    if !state.is_all_done(job) {
        return;
    }
    if let Some(record) = state.jobs.get(&job) {
        state.footprint.mark_unfinished(record, &state.blobs);
    }
}

/// The job, or all components of its set, which are forgotten together.
pub(crate) fn set_of(record: &Record) -> Vec<JobId> {
    record.set.map_or_else(|| vec![record.id], |set| set.keys().map(|key| key.job).collect())
}

/// The finished jobs of a user that exceed the limit, the earliest end first. The last one is
/// always kept.
pub(crate) fn surplus_jobs(state: &State, uid: Uid) -> Vec<JobId> {
    let most = u64::from(state.user_bounds().done_tasks);
    let mut tasks = state.footprint.ended_tasks(uid);
    let is_surplus = |job: &JobId| {
        let is_surplus = tasks > most;
        let own = state.job(*job).map_or(0, |record| record.elements.len() as u64);
        tasks = tasks.saturating_sub(own);
        is_surplus
    };
    let mut surplus: Vec<JobId> =
        state.footprint.all_but_last_ended(uid).take_while(is_surplus).collect();
    // A set is kept as long as one of its components is.
    let all: BTreeSet<JobId> = surplus.iter().copied().collect();
    let is_whole = |job: &JobId| {
        let record = state.job(*job);
        record.is_none_or(|record| set_of(record).iter().all(|other| all.contains(other)))
    };
    surplus.retain(is_whole);
    surplus
}
