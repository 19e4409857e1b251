//! `ForgetDone`: removes submissions that ended more than `done_jobs_kept` ago or exceed what is
//! kept for one user, with their texts, and request keys of that age. It also removes queues that
//! were kept for jobs which have since ended, expired reservations and invitations, and usage that
//! is too old to count. Accounting has a record of all jobs. One command forgets at most
//! [`FORGOTTEN_AT_ONCE`] elements and keys; the next one continues. A job with an unfinished task
//! is kept, and so is a request that may be repeated.

use super::{configure, create_token, delete_reservation, invite};
use crate::event::Event;
use crate::expired::FORGOTTEN_AT_ONCE;
use crate::footprint;
use crate::job::Record;
use crate::state::State;
use crate::texts;
use common::id::{JobId, Uid};
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    delete_reservation::drop_expired(state, events);
    invite::drop_expired(state);
    create_token::drop_expired(state);
    state.usage.forget(state.now);
    state.run_times.forget(state.now);
    let counts = crate::charging::past_use_counts(state);
    state.queue_usage.forget(state.now, counts);
    let (old, _) = state.jobs_to_forget(state.now);
    old.iter().for_each(|record| forget(state, events, record));
    let users: Vec<Uid> = state.footprint.users().collect();
    for uid in users {
        texts::prune_texts(state, uid);
    }
    let old: Vec<JobId> = state.old_requests(state.now).take(FORGOTTEN_AT_ONCE).collect();
    old.into_iter().for_each(|job| forget_request(state, job));
    configure::drop_empty_retired_queues(state, events);
    Ok(())
}

/// Removes what exceeds the limits of a user, the earliest end first.
pub(super) fn trim(state: &mut State, events: &mut Vec<Event>, uid: Uid) {
    texts::prune_texts(state, uid);
    let (surplus, _) = state.first_forgettable(texts::surplus_jobs(state, uid).into_iter());
    surplus.iter().for_each(|record| forget(state, events, record));
    // Of a user who submits faster than keys expire, only the latest keys are kept.
    let most = usize::try_from(state.user_bounds().done_tasks).unwrap_or(usize::MAX);
    let too_many = |state: &State| {
        let jobs = state.asked_of_forgotten.get(&uid).filter(|jobs| jobs.len() > most);
        jobs.and_then(|jobs| jobs.first().copied())
    };
    while let Some(job) = too_many(state) {
        forget_request(state, job);
    }
}

fn forget(state: &mut State, events: &mut Vec<Event>, record: &Record) {
    let job = record.id;
    state.jobs.remove(&job);
    state.dependency_index.forget(record);
    let elements = u32::try_from(record.elements.len()).unwrap_or(u32::MAX);
    state.living.note_elements(elements, false);
    state.footprint.forget(record, &state.blobs);
    if !state.textless.remove(&job) {
        state.blobs.drop_use(&record.spec.script);
        state.blobs.drop_use(&record.spec.environment);
    }
    let (ended, _) = footprint::end_key(record);
    state.forgot_until = state.forgot_until.max(Some(ended));
    if let Some((uid, _)) = state.asked.get(&job) {
        state.asked_of_forgotten.entry(*uid).or_default().insert(job);
    }
    events.push(Event::JobForgotten { job });
}

fn forget_request(state: &mut State, job: JobId) {
    let Some((uid, key)) = state.asked.remove(&job) else { return };
    if let Some(jobs) = state.asked_of_forgotten.get_mut(&uid) {
        jobs.remove(&job);
        if jobs.is_empty() {
            state.asked_of_forgotten.remove(&uid);
        }
    }
    let Some(keys) = state.requests.get_mut(&uid) else { return };
    keys.remove(&key);
    if keys.is_empty() {
        state.requests.remove(&uid);
    }
}
