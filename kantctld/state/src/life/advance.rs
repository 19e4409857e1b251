//! How far a job is, by how far all its nodes are, and all components of its set: ready, running,
//! let go. Never decides an end.

use super::{finish, grow, set, wait_again};
use crate::event::Event;
use crate::job::{Element, SharePhase};
use crate::remembered::State;
use common::id::{AttemptId, JobKey};
use common::job::Phase;
use common::job::state::Change;

/// Says when the whole gang is ready, with all components of its set, and when all of it runs. No
/// component runs before all are ready: what a node runs before it was told to does not count for
/// the others.
pub(super) fn advance(state: &mut State, events: &mut Vec<Event>, id: AttemptId, from: SharePhase) {
    let Some((_, Element { phase: Phase::Starting, run: Some(run), .. })) = state.element(id.key)
    else {
        return;
    };
    let is_lone = run.shares.len() == 1;
    let components = set::components(state, id.key);
    if !set::is_ready(state, id.key) {
        return;
    }
    if from < SharePhase::Ready && !(is_lone && components.len() == 1) {
        for key in &components {
            tell_ready(state, events, *key);
        }
    }
    for key in components {
        note_running(state, events, key);
    }
}

/// Says that a job runs, once all its nodes run it.
fn note_running(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = &mut element.run else { return };
    if run.shares.iter().any(|share| *share < SharePhase::Running)
        || element.phase != Phase::Starting
    {
        return;
    }
    run.running_at.get_or_insert(now);
    if element.follow(Change::Run) {
        state.tell(events, Event::JobRunning { id });
        grow::may_grow_now(state, events, id);
    }
}

fn tell_ready(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some((_, element)) = state.element(key) else { return };
    let Some(run) = &element.run else { return };
    let (id, nodes) = (element.attempt_id(key), run.holding());
    state.tell(events, Event::JobReady { id, nodes });
}

/// Once every node has let go of an attempt that ended, and of all components of its set, the job
/// is done or waits again.
pub(super) fn settle(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    if !set::is_let_go(state, key) {
        return;
    }
    for key in set::components(state, key) {
        let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
        let Some(end) = run.and_then(|run| run.end.clone()) else { continue };
        let (outcome, requeue) = (end.outcome, end.requeue);
        let Some(element) = state.element_mut(key) else { continue };
        if requeue && element.follow(Change::Requeue) {
            state.living.note_active(false);
            wait_again(state, events, key, Some(&end));
        } else if !requeue && element.follow(Change::Finish) {
            state.living.note_active(false);
            finish(state, events, key, outcome, None);
        }
    }
}
