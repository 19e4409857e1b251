//! An attempt starts: everything a round decided is checked again, then written down.
//! Never looks for another place.

use crate::command::RoundStart;
use crate::event::Event;
use crate::job::Run;
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::job::Phase;
use common::job::state::Change;
use std::sync::Arc;

/// Starts an attempt, whole or not at all.
pub(crate) fn start(
    state: &mut State,
    events: &mut Vec<Event>,
    start: &RoundStart,
) -> Result<(), StartRefusal> {
    let (id, now) = (start.id, state.now);
    let exclusive = check_start(state, start)?;
    for share in start.allocation.shares() {
        state.ledger.take(id, share, exclusive);
    }
    let allocation = Arc::new(start.allocation.clone());
    let nodes = allocation.shares().iter().map(|s| s.node.clone()).collect();
    if let Some(element) = state.element_mut(id.key)
        && element.follow(Change::Start)
    {
        element.attempt = id.attempt;
        element.run = Some(Box::new(Run::new(allocation, now)));
    }
    state.tell(events, Event::JobStarted { id, nodes });
    Ok(())
}

/// Is everything still as the round saw it? Answers whether the job wants its nodes whole.
fn check_start(state: &State, start: &RoundStart) -> Result<bool, StartRefusal> {
    let (record, element) = state.element(start.id.key).ok_or(StartRefusal::UnknownJob)?;
    if element.phase != Phase::Pending {
        return Err(StartRefusal::NotPending(element.phase));
    }
    if element.next_attempt() != start.id.attempt {
        return Err(StartRefusal::OtherAttempt { next: element.next_attempt() });
    }
    if element.held {
        return Err(StartRefusal::Held);
    }
    let exclusive = record.spec.ask.request.exclusive;
    for share in start.allocation.shares() {
        let unknown = || StartRefusal::UnknownNode(share.node.clone());
        let node = state.node(&share.node).ok_or_else(unknown)?;
        if !node.is_usable() {
            return Err(StartRefusal::NodeUnusable(share.node.clone()));
        }
        state.ledger.check(share, exclusive, &node.inventory)?;
    }
    Ok(exclusive)
}
