//! How far a job is, by how far all its nodes are, and all components of its set: ready, running,
//! let go. Never decides an end.

use super::{finish, grow, set, wait_again};
use crate::event::Event;
use crate::job::{Element, SharePhase};
use crate::remembered::State;
use common::id::{AttemptId, JobKey};
use common::job::Phase;
use common::job::state::Change;

/// Says when the whole gang is ready, with all components of its set, and when all of it runs.
pub(super) fn advance(state: &mut State, events: &mut Vec<Event>, id: AttemptId, from: SharePhase) {
    let now = state.now;
    let Some((_, Element { phase: Phase::Starting, run: Some(run), .. })) = state.element(id.key)
    else {
        return;
    };
    let (is_many, running) =
        (run.shares.len() > 1, run.shares.iter().all(|share| *share >= SharePhase::Running));
    let components = set::components(state, id.key);
    let is_many = is_many || components.len() > 1;
    if from < SharePhase::Ready && is_many && set::is_ready(state, id.key) {
        for key in components {
            tell_ready(state, events, key);
        }
    }
    let Some(element) = state.element_mut(id.key).filter(|_| running) else { return };
    if element.follow(Change::Run) {
        if let Some(run) = &mut element.run {
            run.running_at.get_or_insert(now);
        }
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
