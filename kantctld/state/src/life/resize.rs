//! An attempt gives nodes up and runs on with the others: those nodes end what they have of it, as
//! they would for a cancel (SIGTERM, grace, SIGKILL), and are free once they say that nothing is
//! left. The first nodes stay, so that no rank changes. Never decides how small it may be.

use super::{decide, run_mut};
use crate::command::RoundShrink;
use crate::event::Event;
use crate::job::SharePhase;
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::id::{JobKey, NodeName, Uid};
use common::job::{Phase, Preempted};
use engine::nodes_min;

/// Gives up nodes because a round says so: another job is to have them.
///
/// # Errors
/// It is another attempt by now, does not run, or has no more than it needs; or nobody waits for
/// its nodes any more.
pub(crate) fn yield_some(
    state: &mut State,
    events: &mut Vec<Event>,
    entry: &RoundShrink,
) -> Result<(), StartRefusal> {
    let RoundShrink { id, preempted, keeps } = *entry;
    let by = state.element(preempted.by).map(|(_, element)| element);
    if !by.is_some_and(|by| by.phase == Phase::Pending && !by.held) {
        return Err(StartRefusal::NobodyWaits(preempted.by));
    }
    let (record, element) = state.element(id.key).ok_or(StartRefusal::UnknownJob)?;
    let request = &record.spec.ask.request;
    let run = element.run.as_ref().filter(|_| element.attempt == id.attempt);
    let runs = run.filter(|run| element.phase == Phase::Running && run.leaving().next().is_none());
    let may = runs.is_some_and(|run| {
        let nodes_min = nodes_min(request, run.allocation.shares());
        let all = run.allocation.shares().len();
        nodes_min.is_some_and(|least| least <= keeps) && (keeps.0 as usize) < all
    });
    if !may {
        return Err(StartRefusal::NothingToYield);
    }
    shrink(state, events, id.key, keeps.0 as usize, (Uid(0), Some(preempted)));
    let (key, why) = (preempted.by, preempted.why);
    state.tell(events, Event::JobPreempts { key, victim: id, why });
    Ok(())
}

/// Keeps so many of its first shares, at least one; the others are to go.
pub(crate) fn shrink(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    keep: usize,
    (by, preempted): (Uid, Option<Preempted>),
) {
    let Some((_, element)) = state.element(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = run_mut(state, key) else { return };
    // Those that go already are the last.
    let stay = run.shares.iter().filter(|share| **share != SharePhase::Leaving).count();
    if keep == 0 || keep >= stay {
        return;
    }
    // Who only has fewer join it need not be told.
    let is_told = keep < run.joiners().start;
    let shares = &run.allocation.shares()[keep..stay];
    let leaves: Vec<NodeName> = shares.iter().map(|share| share.node.clone()).collect();
    if preempted.is_none() {
        let kept = run.allocation.shares()[..keep].iter();
        run.tasks_max = Some(kept.map(|share| share.tasks).sum());
    }
    run.turn_away(keep);
    // What is over already holds nothing.
    let stay = run.joiners().end;
    for rank in (keep..stay).rev() {
        match run.shares[rank].is_over() {
            true => run.drop_share(rank),
            false => run.shares[rank] = SharePhase::Leaving,
        }
    }
    run.resized = run.resized.saturating_add(u32::from(is_told));
    if let Some(preempted) = preempted.filter(|_| run.leaving().next().is_some()) {
        run.gives_to = Some(preempted.by);
    }
    let staying = run.settled();
    let (tasks, nodes) = (staying.tasks(), run.holding());
    let stays = staying.shares().iter().map(|share| share.node.clone()).collect();
    state.tell(events, Event::JobResized { id, by, preempted, tasks, stays, leaves, nodes });
    decide::without_those_that_leave(state, events, id);
    super::grow::join(state, events, id);
}
