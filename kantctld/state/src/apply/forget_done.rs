//! `ForgetDone`: drops what is over for longer than `done_jobs_kept`: whole submissions, their
//! texts, and request keys of that age; queues that were kept for jobs now over; bookings and
//! invitations whose time is over, and usage that is too old to count. Accounting has them. No
//! more than [`FORGOTTEN_AT_ONCE`] elements and keys: what is left is forgotten by the next. Never
//! forgets a job of which one task lives.
//!
//! [`FORGOTTEN_AT_ONCE`]: crate::over::FORGOTTEN_AT_ONCE

use super::{configure, delete_reservation, invite_controller};
use crate::event::Event;
use crate::job::Record;
use crate::over::FORGOTTEN_AT_ONCE;
use crate::remembered::State;
use common::id::JobId;
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // one shape for all commands
pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    delete_reservation::drop_expired(state, events);
    invite_controller::drop_expired(state);
    state.usage.forget(state.now);
    let counts = crate::queue_usage::counts(state);
    state.queue_usage.forget(state.now, counts);
    let (old, _) = state.old(state.now);
    for record in old {
        forget(state, events, &record);
    }
    forget_requests(state);
    configure::drop_empty(state, events);
    Ok(())
}

fn forget(state: &mut State, events: &mut Vec<Event>, record: &Record) {
    let job = record.id;
    state.jobs.remove(&job);
    state.over.remove(job);
    state.ties.forget(record);
    let elements = u32::try_from(record.elements.len()).unwrap_or(u32::MAX);
    state.living.note_elements(elements, false);
    state.blobs.drop_use(&record.spec.script);
    state.blobs.drop_use(&record.spec.environment);
    forget_request(state, job);
    events.push(Event::JobForgotten { job });
}

/// The keys of jobs that live for longer: nobody asks again after so long. Ids rise with time.
fn forget_requests(state: &mut State) {
    let Some(kept) = state.settings().map(|settings| settings.done_jobs_kept) else { return };
    for _ in 0..FORGOTTEN_AT_ONCE {
        let Some((job, (uid, key))) = state.asked.first_key_value() else { return };
        if state.request(*uid, key).is_some_and(|known| known.at + kept > state.now) {
            return;
        }
        let job = *job;
        forget_request(state, job);
    }
}

fn forget_request(state: &mut State, job: JobId) {
    let Some((uid, key)) = state.asked.remove(&job) else { return };
    let Some(keys) = state.requests.get_mut(&uid) else { return };
    keys.remove(&key);
    if keys.is_empty() {
        state.requests.remove(&uid);
    }
}
