//! The progress of a job, derived from the shares of all nodes and all components of its set:
//! ready, running, released.

use super::{finish, grow, set, wait_again};
use crate::event::Event;
use crate::job::{Element, SharePhase};
use crate::state::State;
use common::id::{AttemptId, JobKey};
use common::job::Phase;
use common::job::state::Change;

/// Records when a whole gang with all components of its set is ready, and when all of it runs. No
/// component runs before all are ready: if a node runs its share too early, that does not count for
/// the others.
pub(super) fn advance(state: &mut State, events: &mut Vec<Event>, id: AttemptId, from: SharePhase) {
    let Some((_, Element { phase: Phase::Starting, run: Some(run), .. })) = state.element(id.key)
    else {
        return;
    };
    let is_lone = run.shares.len() == 1;
    if !set::is_ready(state, id.key) {
        return;
    }
    let components = set::components(state, id.key);
    if from < SharePhase::Ready && !(is_lone && components.len() == 1) {
        for key in &components {
            emit_ready(state, events, *key);
        }
    }
    set::part(state, &components);
    for key in components {
        note_running(state, events, key);
    }
}

/// Records that a job runs, once all its nodes run it.
fn note_running(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = &mut element.run else { return };
    if !set::all_shares(run, |share| share >= SharePhase::Running)
        || element.phase != Phase::Starting
    {
        return;
    }
    run.running_at.get_or_insert(now);
    if element.transition(Change::Run) {
        state.record_event(events, Event::JobRunning { id });
        grow::announce_may_grow(state, events, id);
    }
}

fn emit_ready(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some((_, element)) = state.element(key) else { return };
    let Some(run) = &element.run else { return };
    let (id, nodes) = (element.attempt_id(key), run.holding_nodes());
    state.record_event(events, Event::JobReady { id, nodes });
}

/// Finishes or requeues an ended attempt, once every node has released it and all components of its
/// set.
pub(super) fn finish_or_requeue(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    if !set::is_released_by_all(state, key) {
        return;
    }
    for key in set::components(state, key) {
        let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
        let Some(end) = run.and_then(|run| run.end.clone()) else { continue };
        let (outcome, requeue) = (end.outcome, end.requeue);
        let Some(element) = state.element_mut(key) else { continue };
        if requeue && element.transition(Change::Requeue) {
            state.living.note_active(false);
            wait_again(state, events, key, Some(&end));
        } else if !requeue && element.transition(Change::Finish) {
            state.living.note_active(false);
            finish(state, events, key, outcome, None);
        }
    }
}
