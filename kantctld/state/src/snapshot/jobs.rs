//! The conversion of one job or node to the engine's types.

use crate::dependency::Verdict;
use crate::job::{Element, Record, Run};
use crate::node::NodeRecord;
use crate::state::State;
use common::id::{JobKey, NodeName};
use common::job::{Ask, Phase};
use common::node::Contact;
use common::policy::VictimMode;
use common::resource::{Allocation, Request, Share};
use common::time::Time;
use common::topology::Nearness;
use engine::{NodeSnapshot, RunningJob, Unusable, WaitingJob, nodes_min};
use std::sync::Arc;

pub(super) fn node(name: &NodeName, node: &NodeRecord) -> NodeSnapshot {
    NodeSnapshot {
        name: name.clone(),
        inventory: node.inventory.clone(),
        unusable: match (node.contact, &node.drain) {
            (Contact::Silent { .. } | Contact::Lost { .. }, _) => Some(Unusable::Down),
            (Contact::Connected, Some(_)) => Some(Unusable::Drained),
            (Contact::Connected, None) => None,
        },
        data: node.data.clone(),
    }
}

/// A waiting job, with its dependencies as in `verdict`. `None` if it has no queue, which does not
/// happen to an accepted job.
pub(super) fn waiting(
    state: &State,
    key: JobKey,
    record: &Record,
    element: &Element,
    request: Arc<Request>,
    verdict: Verdict,
) -> Option<WaitingJob> {
    let ask = &record.spec.ask;
    let queue = ask.queue.clone()?;
    let by_expected = state.queue(&queue).is_some_and(|queue| queue.backfill.uses_expected_times());
    let (awaits, free_since) = match verdict {
        Verdict::Free(at) => (false, at),
        Verdict::Waits | Verdict::Never => (true, None),
    };
    Some(WaitingJob {
        key,
        attempt: element.next_attempt(),
        owner: record.spec.owner.uid,
        queue,
        account: ask.account.clone(),
        qos: ask.qos.clone(),
        request,
        time_limit: ask.time_limit,
        nice: ask.nice,
        submitted_at: record.submitted_at,
        // Waiting time counts from here (Slurm: a held job or one with open dependencies gains no
        // age).
        begin_at: ask.begin_at.max(element.released_at).max(free_since),
        not_before: element.faults.as_ref().map(|faults| faults.not_before),
        deadline: ask.deadline,
        held: element.held,
        awaits,
        array_limit: ask.array.as_ref().and_then(|array| array.limit()),
        preemptible: ask.preemptible,
        reservation: ask.reservation.clone(),
        service: ask.service,
        together: record.set.map(|place| place.first_key()),
        near_all: near_of_base(state, record),
        expected: record.expected.filter(|_| by_expected),
    })
}

/// How near to each other the replicas of the base of a service start, as its revision prefers.
fn near_of_base(state: &State, record: &Record) -> Option<Nearness> {
    record.set?;
    let replica = record.spec.ask.replica.as_ref()?;
    let spec = state.service(&replica.service)?.revisions.get(&replica.revision)?;
    spec.near.map(|level| Nearness { level, required: false })
}

/// A job that holds nodes; `None` once no node holds any of it.
pub(super) fn running(
    state: &State,
    key: JobKey,
    record: &Record,
    element: &Element,
) -> Option<RunningJob> {
    let run = element.run.as_deref()?;
    let ask = &record.spec.ask;
    let queue = ask.queue.clone()?;
    let preemption = state.queue(&queue).map(|queue| queue.preemption);
    let allocation = still_held(run)?;
    let ending = element.phase == Phase::Completing;
    // If a share has ended by itself, the remaining ones no longer match their ranks, so the job
    // cannot shrink.
    let is_whole = allocation.shares().len() == run.shares.len();
    let may_shrink = element.phase == Phase::Running && is_whole;
    let leaving = if ending { 0 } else { run.leaving().count() };
    let stays = &allocation.shares()[..allocation.shares().len() - leaving];
    Some(RunningJob {
        key,
        attempt: element.attempt,
        nodes_min: nodes_min(&ask.request, stays).filter(|_| may_shrink),
        leaving: u32::try_from(leaving).unwrap_or(u32::MAX),
        allocation,
        ends_by: gone_by(state, run, ask),
        owner: record.spec.owner.uid,
        account: ask.account.clone(),
        qos: ask.qos.clone(),
        nice: ask.nice,
        submitted_at: record.submitted_at,
        started_at: run.allocated_at,
        saved_at: run.saved_at,
        whole_nodes: ask.request.exclusive,
        group: ask.request.group(),
        preemptible: is_preemptible(state, record),
        victim_mode: preemption.map_or(VictimMode::default(), |preemption| preemption.victims),
        ending,
        yields_to: preemptor(run),
        queue,
    })
}

/// Whether a job may be preempted. All components of a set are preempted together, so all of them
/// must be preemptible.
fn is_preemptible(state: &State, record: &Record) -> bool {
    let one = |record: &Record| {
        let ask = &record.spec.ask;
        let qos = ask.qos.as_ref().and_then(|name| state.qos(name));
        let queue = ask.queue.as_ref().and_then(|name| state.queue(name));
        let by_queue = queue.is_some_and(|queue| queue.preemption.preemptible);
        ask.preemptible.or(qos.and_then(|qos| qos.preemptible)).unwrap_or(by_queue)
    };
    let Some(place) = record.set else { return one(record) };
    place.keys().filter_map(|key| state.job(key.job)).all(one)
}

/// The preemptor, if the job is being stopped or shrunk for one.
fn preemptor(run: &Run) -> Option<JobKey> {
    let end = run.end.as_ref().map(|end| end.preempted.map(|preempted| preempted.by));
    end.unwrap_or(run.gives_to)
}

/// The time by which its processes have ended: at the latest at its time limit or deadline, and
/// after the grace period if it is being stopped.
fn gone_by(state: &State, run: &Run, ask: &Ask) -> Option<Time> {
    let grace = state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    let killed = run.end.as_ref().map(|end| end.decided_at + grace);
    run.ends_by(ask).into_iter().chain(killed).min()
}

fn still_held(run: &Run) -> Option<Arc<Allocation>> {
    if run.shares.iter().all(|share| !share.is_over()) {
        return Some(run.allocation.clone());
    }
    let shares = run.allocation.shares().iter().zip(&run.shares);
    let left: Vec<Share> =
        shares.filter(|(_, phase)| !phase.is_over()).map(|(share, _)| share.clone()).collect();
    Allocation::new(left).ok().map(Arc::new)
}
