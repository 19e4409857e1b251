//! Shrinking of a running attempt: it gives nodes up and runs on with the others. The leaving nodes
//! stop their shares as for a cancel (SIGTERM, grace period, SIGKILL), and are free once they
//! report that nothing is left. The first nodes stay, so that no rank changes. The callers decide
//! how small it may be.

use super::{decide, run_mut};
use crate::command::RoundShrink;
use crate::event::Event;
use crate::job::SharePhase;
use crate::ledger::StartRefusal;
use crate::state::State;
use common::id::{JobKey, NodeName, Uid};
use common::job::{Phase, Preempted};
use engine::nodes_min;

/// Shrinks an attempt for another job, as decided by a round.
///
/// # Errors
/// The attempt is no longer current, does not run or is at its minimum, or the preemptor no longer
/// waits.
pub(crate) fn shrink_for_preemptor(
    state: &mut State,
    events: &mut Vec<Event>,
    entry: &RoundShrink,
) -> Result<(), StartRefusal> {
    let RoundShrink { id, preempted, keeps } = *entry;
    let by = state.element(preempted.by).map(|(_, element)| element);
    if !by.is_some_and(|by| by.phase == Phase::Pending && !by.held) {
        return Err(StartRefusal::NoJobWaits(preempted.by));
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
    state.record_event(events, Event::JobPreempts { key, victim: id, why });
    Ok(())
}

/// Keeps the first `keep` shares, at least one. The others leave.
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
    // Shares that are already leaving are the last.
    let stay = run.shares.iter().filter(|share| **share != SharePhase::Leaving).count();
    if keep == 0 || keep >= stay {
        return;
    }
    // If only joining nodes leave, the job need not be notified.
    let is_notified = keep < run.joining_ranks().start;
    let shares = &run.allocation.shares()[keep..stay];
    let leaves: Vec<NodeName> = shares.iter().map(|share| share.node.clone()).collect();
    if preempted.is_none() {
        let kept = run.allocation.shares()[..keep].iter();
        run.tasks_max = Some(kept.map(|share| share.tasks).sum());
    }
    run.turn_away(keep);
    // A share that has ended holds nothing.
    let stay = run.joining_ranks().end;
    for rank in (keep..stay).rev() {
        match run.shares[rank].is_over() {
            true => run.drop_share(rank),
            false => run.shares[rank] = SharePhase::Leaving,
        }
    }
    run.resized = run.resized.saturating_add(u32::from(is_notified));
    if let Some(preempted) = preempted.filter(|_| run.leaving().next().is_some()) {
        run.gives_to = Some(preempted.by);
    }
    let staying = run.known_allocation();
    let (tasks, nodes) = (staying.tasks(), run.holding_nodes());
    let stays = staying.shares().iter().map(|share| share.node.clone()).collect();
    state
        .record_event(events, Event::JobResized { id, by, preempted, tasks, stays, leaves, nodes });
    decide::complete_if_rest_succeeded(state, events, id);
    super::grow::join(state, events, id);
}
