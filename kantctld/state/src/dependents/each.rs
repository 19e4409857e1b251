//! Terms that compare task by task (`aftercorr`). Until its last task ends, the end of an array
//! task costs the same in a large array as in a small one.

use super::{Change, put};
use crate::dependency::{evaluate_each, succeeded};
use crate::job::TermState;
use crate::state::State;
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::Phase;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Updates a term after a task of the other array ended or was requeued, or, if `is_whole`, after
/// the whole array did.
pub(super) fn update_term(
    state: &mut State,
    place: (JobId, usize),
    (other, moved): (JobId, JobKey),
    is_whole: bool,
) -> Change {
    match moved.index.filter(|_| !state.is_all_done(other)) {
        Some(index) => update_task(state, place, (moved, index), is_whole),
        None => update_all_tasks(state, place, other),
    }
}

/// Updates one task. The others follow with their own events.
fn update_task(
    state: &mut State,
    place: (JobId, usize),
    (moved, index): (JobKey, ArrayIndex),
    is_reopened: bool,
) -> Change {
    let Some((other, element)) = state.element(moved) else { return Change::Nothing };
    let (phase, is_well) = (element.phase, succeeded(element));
    let is_own = state.job(place.0).is_some_and(|own| own.elements.contains_key(&Some(index)));
    // Tasks without a counterpart failed with the whole array. One of its tasks was requeued, so
    // they are open again.
    let mut open = BTreeSet::new();
    if is_reopened
        && phase == Phase::Pending
        && let Some(TermState::Each { failed, .. }) = standing(state, place)
    {
        let alone = |index: &&ArrayIndex| !other.elements.contains_key(&Some(**index));
        open = failed.iter().filter(alone).copied().collect();
    }
    let is_alone = open.is_empty();
    let record = state.jobs.get_mut(&place.0).map(Arc::make_mut);
    let Some(TermState::Each { met, failed }) =
        record.and_then(|record| record.standing.get_mut(place.1))
    else {
        return Change::Nothing;
    };
    open.iter().for_each(|index| {
        failed.remove(index);
    });
    let changed = match phase {
        Phase::Done if !is_own || met.contains(&index) => false,
        Phase::Done if is_well => met.insert(index),
        Phase::Done => failed.insert(index),
        _ => failed.remove(&index),
    };
    match (is_alone, changed) {
        (false, _) => Change::All,
        (true, true) => Change::OneTask,
        (true, false) => Change::Nothing,
    }
}

/// The other array has ended. That decides the tasks without a counterpart, too.
fn update_all_tasks(state: &mut State, place: (JobId, usize), other: JobId) -> Change {
    let (Some(own), Some(other)) = (state.job(place.0), state.job(other)) else {
        return Change::Nothing;
    };
    let TermState::Each { met: well, failed: badly } =
        evaluate_each(state, other, own.elements.keys().flatten())
    else {
        return Change::Nothing;
    };
    let Some(TermState::Each { met, .. }) = standing(state, place) else {
        return Change::Nothing;
    };
    let met: BTreeSet<ArrayIndex> = met.union(&well).copied().collect();
    let failed: BTreeSet<ArrayIndex> = badly.difference(&met).copied().collect();
    let now = match met.len() == own.elements.len() {
        true => TermState::Met(state.now()),
        false => TermState::Each { met, failed },
    };
    put(state, place, now)
}

fn standing(state: &State, place: (JobId, usize)) -> Option<&TermState> {
    state.job(place.0)?.standing.get(place.1)
}
