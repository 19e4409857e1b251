//! Growth of a running attempt onto more nodes. The new nodes prepare and start together like a
//! gang, and only then are the job's earlier nodes notified. If a node fails to join, it is dropped
//! together with the joining nodes of higher ranks, so that no rank changes, and the job runs on as
//! before. Nodes are chosen by rounds.

use super::run_mut;
use crate::command::RoundGrow;
use crate::event::{Event, Growth};
use crate::job::{SharePhase, may_grow};
use crate::ledger::StartRefusal;
use crate::state::State;
use common::id::{AttemptId, JobKey, NodeName};
use common::job::Phase;
use common::unit::Tasks;

/// The maximum length of a node's reason for not joining that is kept.
const WHY_CHARS_MAX: usize = 200;

/// Gives an attempt the nodes that a round found, all or none.
///
/// # Errors
/// The attempt is no longer current, no longer runs or has changed its size; or some of the
/// resources are no longer free.
pub(crate) fn grow(
    state: &mut State,
    events: &mut Vec<Event>,
    entry: &RoundGrow,
) -> Result<(), StartRefusal> {
    let exclusive = check(state, entry)?;
    let (id, now) = (entry.id, state.now);
    for share in &entry.shares {
        state.ledger.take(id, share, exclusive);
    }
    let Some(run) = run_mut(state, id.key) else { return Err(StartRefusal::UnknownJob) };
    run.add_joining_shares(&entry.shares, now);
    let joins = entry.shares.iter().map(|share| share.node.clone()).collect();
    state.record_event(events, Event::JobGrowth { id, news: Growth::Given { joins } });
    Ok(())
}

/// Checks that the state is still as the round saw it. Returns whether the job wants its nodes
/// exclusively.
fn check(state: &State, entry: &RoundGrow) -> Result<bool, StartRefusal> {
    let RoundGrow { id, shares } = entry;
    let (record, element) = state.element(id.key).ok_or(StartRefusal::UnknownJob)?;
    let ask = &record.spec.ask;
    let run = element.run.as_ref().filter(|_| element.attempt == id.attempt);
    let run = run.filter(|run| ask.request.grow && may_grow(element.phase, run));
    let run = run.filter(|run| run.grows_after.is_none_or(|after| after <= state.now));
    let run = run.ok_or(StartRefusal::DoesNotGrow)?;
    if ask.deadline.is_some_and(|deadline| deadline <= state.now) {
        return Err(StartRefusal::DeadlineOver);
    }
    let has = run.allocation.tasks();
    let most = run.tasks_limit(ask.request.tasks);
    let given = has + shares.iter().map(|s| s.tasks).sum::<Tasks>();
    if shares.is_empty() || given > most {
        return Err(StartRefusal::OtherTasks { least: has + Tasks(1), most, given });
    }
    for (at, share) in shares.iter().enumerate() {
        let node = || share.node.clone();
        let is_twice = shares[..at].iter().any(|other| other.node == share.node);
        if is_twice || run.rank(&share.node).is_some() || run.had.contains(&share.node) {
            return Err(StartRefusal::HadBefore(node()));
        }
        let known = state.node(&share.node).ok_or_else(|| StartRefusal::UnknownNode(node()))?;
        if !known.is_usable() {
            return Err(StartRefusal::NodeUnusable(node()));
        }
        super::start::check_parts(&ask.request, share, &known.inventory)?;
        state.ledger.check(share, ask.request.exclusive, &known.inventory)?;
    }
    Ok(ask.request.exclusive)
}

/// Makes rounds consider a job for growth, now that it runs.
pub(super) fn announce_may_grow(state: &mut State, events: &mut Vec<Event>, id: AttemptId) {
    let asks = state.element(id.key).is_some_and(|(record, element)| {
        let (asked, run) = (&record.spec.ask.request, element.run.as_ref());
        asked.grow && run.is_some_and(|run| run.allocation.tasks() < run.tasks_limit(asked.tasks))
    });
    if asks {
        state.record_event(events, Event::JobGrowth { id, news: Growth::MayGrow });
    }
}

/// Whether the share of this rank is joining and does not run yet.
pub(super) fn is_joining(state: &State, key: JobKey, rank: usize) -> bool {
    let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
    run.is_some_and(|run| {
        run.joining_ranks().contains(&rank) && run.shares.get(rank) < Some(&SharePhase::Running)
    })
}

/// Checks for progress of the joining nodes, after a report or the loss of one of them. They may
/// run once all are ready, and belong to the job once all run.
pub(super) fn join(state: &mut State, events: &mut Vec<Event>, id: AttemptId) {
    let Some((_, element)) = state.element(id.key) else { return };
    let Some(run) = element.run.as_ref().filter(|run| run.joining > 0) else { return };
    let (joiners, shares) = (run.joining_ranks(), run.allocation.shares());
    let least = run.shares[joiners.clone()].iter().min().copied();
    let nodes = || shares[joiners.clone()].iter().map(|share| share.node.clone()).collect();
    match least {
        Some(SharePhase::Ready) if joiners.len() > 1 => {
            let event = Event::JobGrowth { id, news: Growth::Ready { nodes: nodes() } };
            state.record_event(events, event);
        }
        Some(SharePhase::Unreported | SharePhase::Preparing | SharePhase::Ready) => {}
        _ => {
            let joined: Vec<NodeName> = nodes();
            let Some(run) = run_mut(state, id.key) else { return };
            run.complete_join();
            let settled = run.known_allocation();
            let has = settled.shares().iter().map(|share| share.node.clone()).collect();
            let (tasks, nodes) = (settled.tasks(), run.holding_nodes());
            let news = Growth::Grew { tasks, has, joined, nodes };
            state.record_event(events, Event::JobGrowth { id, news });
        }
    }
}

/// Drops a joining share that ended. Shares of higher ranks that are joining leave with it.
pub(super) fn did_not_join(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    rank: usize,
    why: Option<&str>,
) {
    turn_away(state, events, id, rank, why);
    if let Some(run) = run_mut(state, id.key) {
        run.drop_share(rank);
    }
}

/// Turns away the joining nodes from this rank on.
fn turn_away(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    from: usize,
    why: Option<&str>,
) {
    let now = state.now;
    let Some(run) = run_mut(state, id.key) else { return };
    let joiners = run.joining_ranks();
    if !joiners.contains(&from) {
        return;
    }
    run.turn_away(from);
    run.count_join_failure(now);
    let gone = joiners.start.max(from)..joiners.end.min(run.allocation.shares().len());
    let gone = run.allocation.shares().get(gone).unwrap_or_default();
    let leaves = gone.iter().map(|share| share.node.clone()).collect();
    let why = why.map(|why| why.chars().take(WHY_CHARS_MAX).collect());
    let nodes: Vec<NodeName> = run.joining().cloned().collect();
    state.record_event(events, Event::JobGrowth { id, news: Growth::NotJoined { leaves, why } });
    // A single joining node waits for no other, and may run now.
    if nodes.len() == 1 {
        state.record_event(events, Event::JobGrowth { id, news: Growth::Ready { nodes } });
    }
}

/// Turns away the joining nodes from this node on. Returns false if this node is not joining, or
/// already runs the job.
pub(crate) fn turn_away_node(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    node: &NodeName,
    why: &str,
) -> bool {
    let run = state.element(id.key).and_then(|(_, element)| {
        let lives = matches!(element.phase, Phase::Running | Phase::Suspended);
        element.run.as_ref().filter(|_| lives && element.attempt == id.attempt)
    });
    let Some(rank) = run.and_then(|run| run.rank(node)) else { return false };
    if !run.is_some_and(|run| run.joining_ranks().contains(&rank)) {
        return false;
    }
    turn_away(state, events, id, rank, Some(why));
    join(state, events, id);
    true
}
