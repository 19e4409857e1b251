//! The shared life of a set's components: they are ready together, end together, and finish or wait
//! again together. A job outside a set counts as a set of one.

use crate::job::{Element, Run, SharePhase};
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::Note;
use std::sync::Arc;

/// All components of the job's set in order, or the job itself if it is in none.
#[must_use]
pub fn components(state: &State, key: JobKey) -> Vec<JobKey> {
    match state.job(key.job).and_then(|record| record.set) {
        None => vec![key],
        Some(place) => place.keys().filter(|key| state.element(*key).is_some()).collect(),
    }
}

pub(super) fn others(state: &State, key: JobKey) -> Vec<JobKey> {
    let place = state.job(key.job).and_then(|record| record.set);
    let keys = place.into_iter().flat_map(|place| place.keys());
    keys.filter(|other| *other != key && state.element(*other).is_some()).collect()
}

/// The runs of all components; `None` if one has no run.
pub(crate) fn component_runs(state: &State, key: JobKey) -> Option<Vec<&Run>> {
    let run = |key: JobKey| state.element(key)?.1.run.as_deref();
    components(state, key).into_iter().map(run).collect()
}

/// Whether this is true of all components.
fn all_components(state: &State, key: JobKey, is: impl Fn(&Element) -> bool) -> bool {
    let Some((record, element)) = state.element(key) else { return false };
    match record.set {
        None => is(element),
        Some(place) => {
            place.keys().filter_map(|key| state.element(key)).all(|(_, element)| is(element))
        }
    }
}

/// Whether every node of all components is ready. A job with a single node need not wait to be
/// ready.
pub(crate) fn is_ready(state: &State, key: JobKey) -> bool {
    let is_alone = || others(state, key).is_empty();
    all_components(state, key, |element| {
        element.run.as_ref().is_some_and(|run| {
            all_shares(run, |share| share >= SharePhase::Ready)
                || (run.shares.len() == 1 && is_alone())
        })
    })
}

/// Separates replicas that are all ready: they have started together, and from now on each lives,
/// ends and waits for itself. Other sets stay together.
pub(super) fn part(state: &mut State, components: &[JobKey]) {
    let is_replica =
        |key: &JobKey| state.job(key.job).is_some_and(|record| record.spec.ask.replica.is_some());
    if components.len() < 2 || !components.iter().all(is_replica) {
        return;
    }
    for key in components {
        if let Some(record) = state.jobs.get_mut(&key.job) {
            Arc::make_mut(record).set = None;
        }
    }
}

/// Whether every node has released a set that ends.
pub(super) fn is_released_by_all(state: &State, key: JobKey) -> bool {
    all_components(state, key, |element| match element {
        Element { phase: Phase::Completing, run: Some(run), .. } => {
            run.end.is_some() && all_shares(run, SharePhase::is_over)
        }
        _ => false,
    })
}

/// Whether this is true of all shares. Each of thousands of nodes asks this when it reports, mostly
/// in their order, so the last one is looked at first.
pub(super) fn all_shares(run: &Run, is: impl Fn(SharePhase) -> bool) -> bool {
    run.shares.iter().rev().copied().all(is)
}

/// The message for components that end because another one did; `None` if the outcome explains
/// itself.
pub(super) fn set_end_message(state: &State, key: JobKey, outcome: Outcome) -> Option<String> {
    let place = state.job(key.job)?.set?;
    let speaks = matches!(outcome, Outcome::Completed | Outcome::Cancelled | Outcome::Preempted);
    (!speaks).then(|| Note::ComponentEnded { ended: place, outcome }.to_string())
}
