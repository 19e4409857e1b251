//! An attempt is given nodes while it runs. They make ready for it as a gang does, run together,
//! and only then the nodes that ran it before are told. A node that fails to join is let go, and so
//! are those behind it that were to join with it, so that no rank changes; the job runs on as it
//! was. Never looks for nodes.

use super::run_mut;
use crate::command::RoundGrow;
use crate::event::{Event, Growth};
use crate::job::{SharePhase, may_grow};
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::id::{AttemptId, JobKey, NodeName};
use common::job::Phase;
use common::unit::Tasks;

/// The longest word of a node that is kept of why it did not join.
const WHY_CHARS_MAX: usize = 200;

/// Gives it what a round found for it, all of it or nothing.
///
/// # Errors
/// It is another attempt by now, or does not run, or not as it did; or something of that is not
/// free any more.
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
    run.give(&entry.shares, now);
    let joins = entry.shares.iter().map(|share| share.node.clone()).collect();
    state.tell(events, Event::JobGrowth { id, news: Growth::Given { joins } });
    Ok(())
}

/// Is everything still as the round saw it? Answers whether the job wants its nodes whole.
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
    let most = run.grows_to(ask.request.tasks);
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

/// It runs: rounds are to look whether there is more for it.
pub(super) fn may_grow_now(state: &mut State, events: &mut Vec<Event>, id: AttemptId) {
    let asks = state.element(id.key).is_some_and(|(record, element)| {
        let (asked, run) = (&record.spec.ask.request, element.run.as_ref());
        asked.grow && run.is_some_and(|run| run.allocation.tasks() < run.grows_to(asked.tasks))
    });
    if asks {
        state.tell(events, Event::JobGrowth { id, news: Growth::MayGrow });
    }
}

/// A share of this rank joins, and has not begun to run.
pub(super) fn joins(state: &State, key: JobKey, rank: usize) -> bool {
    let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
    run.is_some_and(|run| {
        run.joiners().contains(&rank) && run.shares.get(rank) < Some(&SharePhase::Running)
    })
}

/// A node moved on with a share that joins, or there are fewer of those: once all of them are
/// ready they may run, and once all of them run the job has them.
pub(super) fn join(state: &mut State, events: &mut Vec<Event>, id: AttemptId) {
    let Some((_, element)) = state.element(id.key) else { return };
    let Some(run) = element.run.as_ref().filter(|run| run.joining > 0) else { return };
    let (joiners, shares) = (run.joiners(), run.allocation.shares());
    let least = run.shares[joiners.clone()].iter().min().copied();
    let nodes = || shares[joiners.clone()].iter().map(|share| share.node.clone()).collect();
    match least {
        Some(SharePhase::Ready) if joiners.len() > 1 => {
            let event = Event::JobGrowth { id, news: Growth::Ready { nodes: nodes() } };
            state.tell(events, event);
        }
        Some(SharePhase::Unreported | SharePhase::Preparing | SharePhase::Ready) => {}
        _ => {
            let joined: Vec<NodeName> = nodes();
            let Some(run) = run_mut(state, id.key) else { return };
            run.has_joined();
            let settled = run.settled();
            let has = settled.shares().iter().map(|share| share.node.clone()).collect();
            let (tasks, nodes) = (settled.tasks(), run.holding());
            let news = Growth::Grew { tasks, has, joined, nodes };
            state.tell(events, Event::JobGrowth { id, news });
        }
    }
}

/// The share of this rank, which joined, is over: it goes, and those behind it leave.
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

/// What joins from this rank on is not to: its nodes let go of it.
fn turn_away(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    from: usize,
    why: Option<&str>,
) {
    let now = state.now;
    let Some(run) = run_mut(state, id.key) else { return };
    let joiners = run.joiners();
    if !joiners.contains(&from) {
        return;
    }
    run.turn_away(from);
    run.failed_to_join(now);
    let gone = joiners.start.max(from)..joiners.end.min(run.allocation.shares().len());
    let gone = run.allocation.shares().get(gone).unwrap_or_default();
    let leaves = gone.iter().map(|share| share.node.clone()).collect();
    let why = why.map(|why| why.chars().take(WHY_CHARS_MAX).collect());
    let nodes: Vec<NodeName> = run.joining().cloned().collect();
    state.tell(events, Event::JobGrowth { id, news: Growth::NotJoined { leaves, why } });
    // One alone waits for nobody: it may run by now, and is to hear of it.
    if nodes.len() == 1 {
        state.tell(events, Event::JobGrowth { id, news: Growth::Ready { nodes } });
    }
}

/// All that joins from this node on is not to; false: this node does not join it, or runs it by
/// now.
pub(crate) fn keep_off(
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
    if !run.is_some_and(|run| run.joiners().contains(&rank)) {
        return false;
    }
    turn_away(state, events, id, rank, Some(why));
    join(state, events, id);
    true
}
