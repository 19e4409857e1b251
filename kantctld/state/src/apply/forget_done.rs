//! `ForgetDone`: drops what is over for longer than `done_jobs_kept`, or is more than a user may
//! have kept: whole submissions, their texts, and request keys of that age; queues that were kept
//! for jobs now over; bookings and invitations whose time is over, and usage that is too old to
//! count. Accounting has them. At most [`FORGOTTEN_AT_ONCE`] elements and keys: the next command
//! forgets the rest. Never forgets a job of which one task lives, nor a request that may come
//! again.

use super::{configure, delete_reservation, invite_controller};
use crate::event::Event;
use crate::footprint;
use crate::job::Record;
use crate::over::FORGOTTEN_AT_ONCE;
use crate::remembered::State;
use common::id::{JobId, Uid};
use common::reason::Refusal;
use common::time::Span;

/// A submission whose answer was lost comes again within this time, and is the same job then, also
/// where that is forgotten.
const REQUEST_KEPT: Span = Span::from_minutes(10);

#[allow(clippy::unnecessary_wraps)] // one shape for all commands
pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    delete_reservation::drop_expired(state, events);
    invite_controller::drop_expired(state);
    state.usage.forget(state.now);
    let counts = crate::queue_usage::counts(state);
    state.queue_usage.forget(state.now, counts);
    let (old, _) = state.old(state.now);
    old.iter().for_each(|record| forget(state, events, record));
    for uid in footprint::users(state) {
        footprint::prune(state, uid);
    }
    forget_requests(state);
    configure::drop_empty(state, events);
    Ok(())
}

/// Drops what a user has kept too much of, the earliest end first.
pub(super) fn trim(state: &mut State, events: &mut Vec<Event>, uid: Uid) {
    footprint::prune(state, uid);
    let (surplus, _) = state.first_of(footprint::surplus(state, uid).into_iter());
    surplus.iter().for_each(|record| forget(state, events, record));
}

fn forget(state: &mut State, events: &mut Vec<Event>, record: &Record) {
    let job = record.id;
    state.jobs.remove(&job);
    state.ties.forget(record);
    let elements = u32::try_from(record.elements.len()).unwrap_or(u32::MAX);
    state.living.note_elements(elements, false);
    state.footprint.forget(record, &state.blobs);
    if !state.textless.remove(&job) {
        state.blobs.drop_use(&record.spec.script);
        state.blobs.drop_use(&record.spec.environment);
    }
    let (ended, _) = footprint::ended(record);
    state.forgot_until = state.forgot_until.max(Some(ended));
    if state.asked.contains_key(&job) {
        state.asked_of_forgotten.insert(job);
    }
    events.push(Event::JobForgotten { job });
}

/// The keys of jobs that are forgotten, once they do not come again, and those of jobs that live
/// for longer than finished ones are kept. Ids rise with time.
fn forget_requests(state: &mut State) {
    let Some(kept) = state.settings().map(|settings| settings.done_jobs_kept) else { return };
    forget_oldest(state, REQUEST_KEPT.min(kept), |state| state.asked_of_forgotten.first().copied());
    forget_oldest(state, kept, |state| state.asked.keys().next().copied());
}

/// Forgets requests that are older than `kept`, as `next` names them.
fn forget_oldest(state: &mut State, kept: Span, next: impl Fn(&State) -> Option<JobId>) {
    for _ in 0..FORGOTTEN_AT_ONCE {
        let Some(job) = next(state) else { return };
        let known = state.asked.get(&job).and_then(|(uid, key)| state.request(*uid, key));
        if known.is_some_and(|known| known.at + kept > state.now) {
            return;
        }
        forget_request(state, job);
    }
}

fn forget_request(state: &mut State, job: JobId) {
    state.asked_of_forgotten.remove(&job);
    let Some((uid, key)) = state.asked.remove(&job) else { return };
    let Some(keys) = state.requests.get_mut(&uid) else { return };
    keys.remove(&key);
    if keys.is_empty() {
        state.requests.remove(&uid);
    }
}
