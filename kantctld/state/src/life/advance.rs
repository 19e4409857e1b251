//! A gang gets going: all of it is ready, then all of it runs. Never looks at what joins it later.

use super::grow;
use crate::event::Event;
use crate::job::{Element, SharePhase};
use crate::remembered::State;
use common::id::AttemptId;
use common::job::Phase;
use common::job::state::Change;

/// Says when the whole gang is ready, and when all of it runs.
pub(super) fn advance(state: &mut State, events: &mut Vec<Event>, id: AttemptId, from: SharePhase) {
    let now = state.now;
    let Some((_, Element { phase: Phase::Starting, run: Some(run), .. })) = state.element(id.key)
    else {
        return;
    };
    let all_reached = |phase: SharePhase| run.shares.iter().all(|s| *s >= phase);
    let ready = from < SharePhase::Ready && all_reached(SharePhase::Ready);
    let running = all_reached(SharePhase::Running);
    if ready && run.shares.len() > 1 {
        let nodes = run.holding();
        state.tell(events, Event::JobReady { id, nodes });
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
