//! The start of an attempt: each decision of a round is checked again and then recorded.

use crate::command::RoundStart;
use crate::dependency::{self, Verdict};
use crate::event::Event;
use crate::job::Run;
use crate::ledger::StartRefusal;
use crate::state::State;
use common::gpu_parts::PartSize;
use common::id::{JobId, JobKey};
use common::job::state::Change;
use common::job::{Ask, Phase};
use common::node::Inventory;
use common::resource::{Allocation, Request, Share};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Starts an attempt, whole or not at all.
pub(crate) fn start(
    state: &mut State,
    events: &mut Vec<Event>,
    start: &RoundStart,
) -> Result<(), StartRefusal> {
    check_set_complete(state, start.id.key, |_| false)?;
    book(state, start)?;
    begin(state, events, start);
    Ok(())
}

/// Starts several attempts, all or none. Each is checked with the resources of the earlier ones
/// taken.
///
/// # Errors
/// The index of the first entry that could not start, and the reason.
pub(crate) fn start_together(
    state: &mut State,
    events: &mut Vec<Event>,
    starts: &[&RoundStart],
) -> Result<(), (usize, StartRefusal)> {
    let all: BTreeSet<JobKey> = starts.iter().map(|start| start.id.key).collect();
    for (place, start) in starts.iter().enumerate() {
        check_set_complete(state, start.id.key, |key| all.contains(&key))
            .map_err(|why| (place, why))?;
    }
    let mut keys = BTreeSet::new();
    for (place, start) in starts.iter().enumerate() {
        let fresh =
            if keys.insert(start.id.key) { Ok(()) } else { Err(StartRefusal::TwiceInGroup) };
        let alone = fresh.and_then(|()| check_singleton(state, start, &starts[..place]));
        if let Err(refusal) = alone.and_then(|()| book(state, start)) {
            starts[..place].iter().for_each(|start| unbook(state, start));
            return Err((place, refusal));
        }
    }
    starts.iter().for_each(|start| begin(state, events, start));
    Ok(())
}

/// Checks that all components of the job's set start with it.
fn check_set_complete(
    state: &State,
    key: JobKey,
    starts: impl Fn(JobKey) -> bool,
) -> Result<(), StartRefusal> {
    let others = super::set::others(state, key);
    if others.into_iter().all(starts) { Ok(()) } else { Err(StartRefusal::NotWhole) }
}

/// Checks that a singleton job starts with no earlier entry of its name. Entries of one group are
/// not yet recorded as running, so they are compared with each other.
fn check_singleton(
    state: &State,
    start: &RoundStart,
    before: &[&RoundStart],
) -> Result<(), StartRefusal> {
    let name = |start: &RoundStart| {
        let record = state.job(start.id.key.job)?;
        Some((record.id, record.spec.owner.uid, &record.spec.ask.name))
    };
    let record = state.job(start.id.key.job);
    let dependency = record.and_then(|record| record.spec.ask.dependency.as_ref());
    let (Some(own), true) = (name(start), dependency.is_some_and(|d| d.is_singleton())) else {
        return Ok(());
    };
    let set = record.and_then(|record| record.set).map(|place| place.first);
    let in_set = |id| state.job(id).and_then(|other| other.set).map(|place| place.first);
    let has_same_name = |(id, owner, name): (JobId, _, _)| {
        id != own.0 && (owner, name) == (own.1, own.2) && (set.is_none() || in_set(id) != set)
    };
    match before.iter().filter_map(|start| name(start)).any(has_same_name) {
        true => Err(StartRefusal::Awaits),
        false => Ok(()),
    }
}

/// Checks an entry and allocates its resources.
fn book(state: &mut State, start: &RoundStart) -> Result<(), StartRefusal> {
    let exclusive = check_start(state, start)?;
    for share in start.allocation.shares() {
        state.ledger.take(start.id, share, exclusive);
    }
    Ok(())
}

fn unbook(state: &mut State, start: &RoundStart) {
    for share in start.allocation.shares() {
        state.ledger.release(start.id, &share.node);
    }
}

/// Begins an attempt whose resources are allocated.
fn begin(state: &mut State, events: &mut Vec<Event>, start: &RoundStart) {
    let (id, now) = (start.id, state.now);
    let allocation = Arc::new(start.allocation.clone());
    let nodes = allocation.shares().iter().map(|s| s.node.clone()).collect();
    if let Some(element) = state.element_mut(id.key)
        && element.transition(Change::Start)
    {
        (element.attempt, element.moving) = (id.attempt, None);
        element.run = Some(Box::new(Run::new(allocation, now)));
        state.living.note_active(true);
    }
    state.record_event(events, Event::JobStarted { id, nodes });
}

/// Checks that the state is still as the round saw it. Returns whether the job wants its nodes
/// exclusively.
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
    let free = match dependency::verdict(state, record, start.id.key.index) {
        Verdict::Free(at) => at.is_none_or(|at| at <= state.now),
        Verdict::Waits | Verdict::Never => false,
    };
    if !free {
        return Err(StartRefusal::Awaits);
    }
    let ask = &record.spec.ask;
    if ask.deadline.is_some_and(|deadline| deadline <= state.now) {
        return Err(StartRefusal::DeadlineOver);
    }
    check_tasks(ask, &start.allocation)?;
    let exclusive = ask.request.exclusive;
    for share in start.allocation.shares() {
        let unknown = || StartRefusal::UnknownNode(share.node.clone());
        let node = state.node(&share.node).ok_or_else(unknown)?;
        if !node.is_usable() {
            return Err(StartRefusal::NodeUnusable(share.node.clone()));
        }
        check_parts(&ask.request, share, &node.inventory)?;
        state.ledger.check(share, exclusive, &node.inventory)?;
    }
    Ok(exclusive)
}

/// Checks the number of tasks. The layout of tasks, CPUs and memory is left to the engine.
fn check_tasks(ask: &Ask, allocation: &Allocation) -> Result<(), StartRefusal> {
    let (most, given) = (ask.request.tasks, allocation.tasks());
    let least = ask.request.tasks_min.unwrap_or(most);
    if given < least || given > most {
        return Err(StartRefusal::OtherTasks { least, most, given });
    }
    Ok(())
}

/// Checks that the share has the requested part of the requested number of GPUs, or whole GPUs.
pub(super) fn check_parts(
    request: &Request,
    share: &Share,
    inventory: &Inventory,
) -> Result<(), StartRefusal> {
    let is_right = match request.gpu_parts() {
        None => share.gpu_milli.is_none(),
        Some(parts) => {
            let part = match parts.each {
                PartSize::Milli(part) => Some(part),
                PartSize::Memory(_) => request.gpu_part_on(&inventory.gpus),
            };
            part.is_some()
                && share.gpu_milli == part
                && share.gpus.len() == parts.devices.0 as usize
        }
    };
    if is_right { Ok(()) } else { Err(StartRefusal::OtherPart(share.node.clone())) }
}
