//! `ForgetDone`: drops what is over for longer than `done_jobs_kept`: whole submissions, their
//! texts, and request keys of that age; queues that were kept for jobs now over; bookings and
//! invitations whose time is over, and usage that is too old to count. Accounting has them. Never
//! forgets a job of which one task lives, nor one whose request key is remembered.

use super::{configure, delete_reservation, invite_controller};
use crate::event::Event;
use crate::remembered::State;
use common::id::JobId;
use common::reason::Refusal;
use common::time::Span;

pub(super) fn apply(state: &mut State, events: &mut Vec<Event>) -> Result<(), Refusal> {
    delete_reservation::drop_expired(state, events);
    invite_controller::drop_expired(state);
    state.usage.forget(state.now);
    let counts = crate::queue_usage::counts(state);
    state.queue_usage.forget(state.now, counts);
    let Some(kept) = state.settings().map(|settings| settings.done_jobs_kept) else {
        return Ok(());
    };
    let old: Vec<JobId> =
        state.jobs.keys().copied().filter(|id| is_old(state, *id, kept)).collect();
    for id in old {
        let Some(record) = state.jobs.remove(&id) else { continue };
        state.ties.forget(&record);
        let elements = u32::try_from(record.elements.len()).unwrap_or(u32::MAX);
        state.living.note_elements(elements, false);
        state.blobs.drop_use(&record.spec.script);
        state.blobs.drop_use(&record.spec.environment);
        events.push(Event::JobForgotten { job: id });
    }
    let (now, jobs) = (state.now, &state.jobs);
    for keys in state.requests.values_mut() {
        keys.retain(|_, request| request.at + kept > now && jobs.contains_key(&request.job));
    }
    state.requests.retain(|_, keys| !keys.is_empty());
    configure::drop_empty(state, events);
    Ok(())
}

/// Over, all of it, for so long. A job is over later than it was requested, so by then its request
/// key is old enough too.
fn is_old(state: &State, id: JobId, kept: Span) -> bool {
    if !state.is_all_done(id) {
        return false;
    }
    let last = state.job(id).and_then(|r| r.elements.values().filter_map(|e| e.done_at).max());
    last.is_some_and(|last| last + kept <= state.now)
}
