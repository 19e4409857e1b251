//! An attempt starts: everything a round decided is checked again, then written down.
//! Never looks for another place.

use crate::command::RoundStart;
use crate::event::Event;
use crate::job::Run;
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::job::state::Change;
use common::job::{Ask, Phase};
use common::resource::{Allocation, GpuRequest};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Starts an attempt, whole or not at all.
pub(crate) fn start(
    state: &mut State,
    events: &mut Vec<Event>,
    start: &RoundStart,
) -> Result<(), StartRefusal> {
    book(state, start)?;
    begin(state, events, start);
    Ok(())
}

/// Starts several attempts, all or none: each finds taken what those before it take.
///
/// # Errors
/// The first entry that could not start, by its place, and why.
pub(crate) fn start_together(
    state: &mut State,
    events: &mut Vec<Event>,
    starts: &[&RoundStart],
) -> Result<(), (usize, StartRefusal)> {
    let mut keys = BTreeSet::new();
    for (place, start) in starts.iter().enumerate() {
        let fresh =
            if keys.insert(start.id.key) { Ok(()) } else { Err(StartRefusal::TwiceInGroup) };
        if let Err(refusal) = fresh.and_then(|()| book(state, start)) {
            starts[..place].iter().for_each(|start| unbook(state, start));
            return Err((place, refusal));
        }
    }
    starts.iter().for_each(|start| begin(state, events, start));
    Ok(())
}

/// Checks an entry and takes what it is to get.
fn book(state: &mut State, start: &RoundStart) -> Result<(), StartRefusal> {
    let exclusive = check_start(state, start)?;
    for share in start.allocation.shares() {
        state.ledger.take(start.id, share, exclusive);
    }
    Ok(())
}

fn unbook(state: &mut State, start: &RoundStart) {
    for share in start.allocation.shares() {
        state.ledger.free(start.id, &share.node);
    }
}

/// The attempt begins, with what was taken for it.
fn begin(state: &mut State, events: &mut Vec<Event>, start: &RoundStart) {
    let (id, now) = (start.id, state.now);
    let allocation = Arc::new(start.allocation.clone());
    let nodes = allocation.shares().iter().map(|s| s.node.clone()).collect();
    if let Some(element) = state.element_mut(id.key)
        && element.follow(Change::Start)
    {
        element.attempt = id.attempt;
        element.run = Some(Box::new(Run::new(allocation, now)));
    }
    state.tell(events, Event::JobStarted { id, nodes });
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
    let ask = &record.spec.ask;
    if ask.deadline.is_some_and(|deadline| deadline <= state.now) {
        return Err(StartRefusal::DeadlineOver);
    }
    check_asked(ask, &start.allocation)?;
    let exclusive = ask.request.exclusive;
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

/// Does it get as many tasks as it is content with, and the part of a GPU it asked for? How tasks,
/// CPUs and memory are laid out is the engine's business.
fn check_asked(ask: &Ask, allocation: &Allocation) -> Result<(), StartRefusal> {
    let (most, given) = (ask.request.tasks, allocation.tasks());
    let least = ask.request.tasks_min.unwrap_or(most);
    if given < least || given > most {
        return Err(StartRefusal::OtherTasks { least, most, given });
    }
    let part = match ask.request.gpus {
        Some(GpuRequest::Fraction(part)) => Some(part),
        _ => None,
    };
    match allocation.shares().iter().find(|share| share.gpu_milli != part) {
        Some(share) => Err(StartRefusal::OtherPart(share.node.clone())),
        None => Ok(()),
    }
}
