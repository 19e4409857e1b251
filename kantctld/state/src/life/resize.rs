//! An attempt gives nodes up and runs on with the others: those nodes end what they have of it, as
//! they would for a cancel (SIGTERM, grace, SIGKILL), and are free once they say that nothing is
//! left. The first nodes stay, so that no rank changes. Never decides how small it may be.

use super::{decide, run_mut};
use crate::event::Event;
use crate::job::SharePhase;
use crate::remembered::State;
use common::id::{JobKey, NodeName, Uid};

/// Keeps so many of its first shares, at least one; the others are to go.
pub(crate) fn shrink(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    keep: usize,
    by: Uid,
) {
    let Some((_, element)) = state.element(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = run_mut(state, key) else { return };
    // Those that go already are the last.
    let stay = run.shares.iter().filter(|share| **share != SharePhase::Leaving).count();
    if keep == 0 || keep >= stay {
        return;
    }
    let shares = &run.allocation.shares()[keep..stay];
    let leaves: Vec<NodeName> = shares.iter().map(|share| share.node.clone()).collect();
    // What is over already holds nothing.
    for rank in (keep..stay).rev() {
        match run.shares[rank].is_over() {
            true => run.drop_share(rank),
            false => run.shares[rank] = SharePhase::Leaving,
        }
    }
    run.resized = run.resized.saturating_add(1);
    let staying = run.staying();
    let (tasks, nodes) = (staying.tasks(), run.holding());
    let stays = staying.shares().iter().map(|share| share.node.clone()).collect();
    state.tell(events, Event::JobResized { id, by, tasks, stays, leaves, nodes });
    decide::without_those_that_leave(state, events, id);
}
