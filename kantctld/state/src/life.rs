//! The life of an attempt: start, the shares' way through their phases, the end, and what comes
//! after it. The only place that moves a job from phase to phase, and each move is told.
//! Told in full in docs/decisions/0001-job-states-and-events.md. Never checks who may ask for what.

use crate::command::RoundStart;
use crate::event::{Event, ShareNews};
use crate::job::{Element, End, Run, SharePhase};
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::id::{AttemptId, JobKey, NodeName, Uid};
use common::job::state::Change;
use common::job::{EndCause, ExitStatus, Launch, Outcome, Phase, StepEnd, Usage};
use common::time::Time;
use common::wire::node::{StepPhase, StepStatus};
use std::sync::Arc;

/// How an end came about.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) requeue: bool,
    pub(crate) by: Option<Uid>,
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) message: Option<String>,
}

impl Ending {
    /// Somebody asked for it.
    pub(crate) const fn asked(by: Uid, requeue: bool) -> Self {
        let outcome = Outcome::Cancelled;
        Self { outcome, requeue, by: Some(by), exit: None, message: None }
    }
}

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

/// Takes a node's word on one step. What is unknown, older, or known already changes nothing: the
/// node learns from its desired state that it is to drop it.
pub(crate) fn report(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    status: &StepStatus,
) {
    let (to, news) = match &status.phase {
        StepPhase::Preparing => (SharePhase::Preparing, ShareNews::Preparing),
        StepPhase::Ready => (SharePhase::Ready, ShareNews::Ready),
        StepPhase::Running { .. } => (SharePhase::Running, ShareNews::Running),
        StepPhase::Ended(end) => return share_ended(state, events, node, status.id, end),
    };
    let Some((rank, from)) = share(state, status.id, node) else { return };
    if from.is_over() || to <= from {
        return;
    }
    let Some(run) = run_mut(state, status.id.key) else { return };
    run.shares[rank] = to;
    state.tell(events, Event::StepReported { id: status.id, node: node.clone(), news });
    advance(state, events, status.id, from);
}

/// A node has let go of its share (or is taken to have): frees it there, and decides what that
/// means for the job.
pub(crate) fn share_ended(
    state: &mut State,
    events: &mut Vec<Event>,
    node: &NodeName,
    id: AttemptId,
    end: &StepEnd,
) {
    let Some((rank, from)) = share(state, id, node) else { return };
    if from.is_over() {
        return;
    }
    let now = state.now;
    state.ledger.free(id, node);
    let Some(run) = run_mut(state, id.key) else { return };
    run.shares[rank] = SharePhase::ended(end.cause, end.exit);
    run.usage = add_usage(run.usage, end.usage);
    if let (None, Some(began)) = (run.running_at, end.started_at) {
        // It began and ended between two reports. The node's clock is not ours: keep it in bounds.
        run.running_at = Some(began.max(run.allocated_at).min(now));
    }
    let news = ShareNews::Ended(end.cause, end.exit);
    state.tell(events, Event::StepReported { id, node: node.clone(), news });
    decide(state, events, id, rank, end);
    advance(state, events, id, from);
    settle(state, events, id.key);
}

/// Decides what the end of one share means for its job.
fn decide(state: &mut State, events: &mut Vec<Event>, id: AttemptId, rank: usize, end: &StepEnd) {
    let Some((record, element)) = state.element(id.key) else { return };
    let Some(run) = &element.run else { return };
    let (launch, requeue) = (record.spec.ask.launch, record.spec.ask.requeue);
    let exit = end.started_at.map(|_| end.exit);
    if element.phase == Phase::Completing {
        return learn_more(state, events, id, exit, end, succeeded(run, launch, rank));
    }
    let outcome = match end.cause {
        EndCause::Exited if end.exit.is_success() => {
            if !succeeded(run, launch, rank) {
                return;
            }
            Outcome::Completed
        }
        // Ranks beyond the first have no process under `Once`: their nodes merely let go.
        EndCause::Exited if launch == Launch::Once && rank != 0 => return,
        EndCause::Exited => Outcome::Failed,
        EndCause::TimedOut => Outcome::TimedOut,
        EndCause::OutOfMemory => Outcome::OutOfMemory,
        EndCause::LaunchFailed => Outcome::LaunchFailed,
        // Nobody asked for a stop: the node lost it in its own way.
        EndCause::Lost | EndCause::Stopped => Outcome::NodeLost,
    };
    let requeue = requeue && outcome == Outcome::NodeLost;
    let message = end.message.clone();
    ended(state, events, id.key, Ending { outcome, requeue, by: None, exit, message });
}

/// Has the job succeeded, now that the share of this rank is over? Under `Once` the first node's
/// script decides; else all shares do.
fn succeeded(run: &Run, launch: Launch, rank: usize) -> bool {
    match launch {
        Launch::Once => rank == 0 && run.shares.first() == Some(&SharePhase::Succeeded),
        Launch::PerNode | Launch::PerTask => run.shares.iter().all(|s| *s == SharePhase::Succeeded),
    }
}

/// Another share of a job whose end is decided is over. What it says completes the picture; and a
/// job that was cancelled but succeeded before the word reached it did succeed.
fn learn_more(
    state: &mut State,
    events: &mut Vec<Event>,
    id: AttemptId,
    exit: Option<ExitStatus>,
    share_end: &StepEnd,
    succeeded: bool,
) {
    let Some(end) = run_mut(state, id.key).and_then(|run| run.end.as_mut()) else { return };
    end.exit = end.exit.or(exit);
    if end.message.is_none() && share_end.cause != EndCause::Lost {
        end.message.clone_from(&share_end.message);
    }
    if end.asked && !end.requeue && end.outcome == Outcome::Cancelled && succeeded {
        (end.outcome, end.asked) = (Outcome::Completed, false);
        let (outcome, by, requeue) = (Outcome::Completed, None, false);
        state.tell(events, Event::JobEndChanged { id, outcome, by, requeue });
    }
}

/// Decides the end of an attempt that lives. Its nodes are to stop what is left of it.
pub(crate) fn ended(state: &mut State, events: &mut Vec<Event>, key: JobKey, ending: Ending) {
    let decided_at = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.follow(Change::End) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    let Ending { outcome, requeue, by, exit, message } = ending;
    let asked = by.is_some();
    run.end = Some(End { outcome, requeue, decided_at, asked, exit, message });
    let nodes = run.holding();
    state.tell(events, Event::JobEnded { id, outcome, exit, by, requeue, nodes });
    settle(state, events, key);
}

/// Changes an end that was decided but not carried out: cancel a job that would be requeued, or
/// the other way round. False if it is as asked already.
pub(crate) fn change_end(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    by: Uid,
    requeue: bool,
) -> bool {
    let Some(element) = state.element_mut(key) else { return false };
    let id = element.attempt_id(key);
    let Some(end) = element.run.as_mut().and_then(|run| run.end.as_mut()) else { return false };
    if end.requeue == requeue {
        return false;
    }
    (end.outcome, end.requeue, end.asked) = (Outcome::Cancelled, requeue, true);
    let (outcome, by) = (Outcome::Cancelled, Some(by));
    state.tell(events, Event::JobEndChanged { id, outcome, by, requeue });
    true
}

/// A waiting job is over before it started.
pub(crate) fn drop_waiting(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let Some(element) = state.element_mut(key) else { return };
    if element.follow(Change::Drop) {
        finish(state, events, key, Outcome::Cancelled, Some(by));
    }
}

/// A finished job waits again.
pub(crate) fn revive(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some(element) = state.element_mut(key) else { return };
    if element.follow(Change::Requeue) {
        wait_again(state, events, key);
    }
}

/// Says when the whole gang is ready, and when all of it runs.
fn advance(state: &mut State, events: &mut Vec<Event>, id: AttemptId, from: SharePhase) {
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
    }
}

/// Once every node has let go of an attempt that ended, the job is done or waits again.
fn settle(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some((_, Element { phase: Phase::Completing, run: Some(run), .. })) = state.element(key)
    else {
        return;
    };
    let Some(end) = run.end.as_ref().filter(|_| run.shares.iter().all(|s| s.is_over())) else {
        return;
    };
    let (outcome, requeue) = (end.outcome, end.requeue);
    let Some(element) = state.element_mut(key) else { return };
    if requeue && element.follow(Change::Requeue) {
        wait_again(state, events, key);
    } else if !requeue && element.follow(Change::Finish) {
        finish(state, events, key, outcome, None);
    }
}

/// What being Done means. The phase is set already.
fn finish(
    state: &mut State,
    events: &mut Vec<Event>,
    key: JobKey,
    outcome: Outcome,
    by: Option<Uid>,
) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    (element.outcome, element.done_at) = (Some(outcome), Some(now));
    if let Some(run) = &mut element.run {
        run.shares = Vec::new();
    }
    let attempt = element.attempt;
    state.live.remove(&key);
    state.tell(events, Event::JobDone { key, attempt, outcome, by });
}

/// What waiting for another attempt means. The phase is set already.
fn wait_again(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some(element) = state.element_mut(key) else { return };
    (element.outcome, element.done_at, element.run) = (None, None, None);
    let attempt = element.attempt;
    state.live.insert(key);
    state.tell(events, Event::JobRequeued { key, attempt });
}

/// The end of a share that no node told: its node is gone, or came back without it.
pub(crate) fn untold_end(cause: EndCause, now: Time, message: Option<String>) -> StepEnd {
    let (exit, usage) = (ExitStatus::default(), Usage::default());
    StepEnd { cause, exit, started_at: None, ended_at: now, usage, message }
}

/// The rank and phase of a node's share, if the attempt is the current one and lives.
pub(crate) fn share(state: &State, id: AttemptId, node: &NodeName) -> Option<(usize, SharePhase)> {
    let (_, element) = state.element(id.key)?;
    if element.attempt != id.attempt || !element.phase.holds_resources() {
        return None;
    }
    let run = element.run.as_ref()?;
    let rank = run.rank(node)?;
    Some((rank, *run.shares.get(rank)?))
}

fn run_mut(state: &mut State, key: JobKey) -> Option<&mut Run> {
    state.element_mut(key)?.run.as_deref_mut()
}

fn add_usage(sum: Usage, more: Usage) -> Usage {
    let memory_peak = sum.memory_peak.max(more.memory_peak);
    Usage { cpu: sum.cpu + more.cpu, memory_peak }
}
