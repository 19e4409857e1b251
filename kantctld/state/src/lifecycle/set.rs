//! The shared life of a set's components: they are ready together, end together, and finish or wait
//! again together. A job outside a set counts as a set of one.

use crate::job::{Element, Run, SharePhase};
use crate::state::State;
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::reason::Note;

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
pub(crate) fn runs(state: &State, key: JobKey) -> Option<Vec<&Run>> {
    let run = |key: JobKey| state.element(key)?.1.run.as_deref();
    components(state, key).into_iter().map(run).collect()
}

/// Whether every node of all components is ready. A job with a single node need not wait to be
/// ready.
pub(crate) fn is_ready(state: &State, key: JobKey) -> bool {
    let Some(runs) = runs(state, key) else { return false };
    let mut shares = runs.iter().flat_map(|run| &run.shares);
    let is_alone = runs.len() == 1 && runs[0].shares.len() == 1;
    is_alone || shares.all(|share| *share >= SharePhase::Ready)
}

/// Whether every node has released a set that ends.
pub(super) fn is_let_go(state: &State, key: JobKey) -> bool {
    let is_over = |key: &JobKey| match state.element(*key) {
        Some((_, Element { phase: Phase::Completing, run: Some(run), .. })) => {
            run.end.is_some() && run.shares.iter().all(|share| share.is_over())
        }
        _ => false,
    };
    components(state, key).iter().all(is_over)
}

/// The message for components that end because another one did; `None` if the outcome explains
/// itself.
pub(super) fn ended_with(state: &State, key: JobKey, outcome: Outcome) -> Option<String> {
    let place = state.job(key.job)?.set?;
    let speaks = matches!(outcome, Outcome::Completed | Outcome::Cancelled | Outcome::Preempted);
    (!speaks).then(|| Note::ComponentEnded { ended: place, outcome }.to_string())
}
