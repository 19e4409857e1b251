//! The state as the engine sees it, and the engine's decisions as a command. The one place where
//! the two crates meet. Never orders, filters by policy, or decides.

use crate::command::RoundStart;
use crate::job::{Element, Record, Run};
use crate::ledger::Holdings;
use crate::node::NodeRecord;
use crate::remembered::State;
use common::cpuset::CpuSet;
use common::id::{AttemptId, GpuIndex, JobId, JobKey, NodeName};
use common::job::{Ask, Phase};
use common::node::Contact;
use common::reason::Refusal;
use common::resource::{Allocation, Request, Share};
use common::unit::Bytes;
use engine::{Decision, NodeSnapshot, RunningJob, Snapshot, Unusable, WaitingJob};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a round should see now.
#[must_use]
pub fn snapshot(state: &State) -> Snapshot {
    let mut snapshot = Snapshot {
        nodes: state.nodes().map(|(name, node)| node_snapshot(state, name, node)).collect(),
        queues: state.queues().to_vec(),
        ..Snapshot::default()
    };
    let mut request: Option<(JobId, Arc<Request>)> = None;
    for key in state.live() {
        let Some((record, element)) = state.element(key) else { continue };
        if element.phase == Phase::Pending {
            let shared = match &request {
                Some((job, shared)) if *job == key.job => shared.clone(),
                _ => Arc::new(record.spec.ask.request.clone()),
            };
            request = Some((key.job, shared.clone()));
            snapshot.waiting.extend(waiting(key, record, element, shared));
            continue;
        }
        if record.spec.ask.array.is_some() {
            *snapshot.array_running.entry(key.job).or_insert(0) += 1;
        }
        snapshot.running.extend(element.run.as_ref().and_then(|run| running(key, record, run)));
    }
    snapshot
}

/// The command that carries a round out. Kinds of decisions this version does not know are left
/// out: they are carried out by none, and the next round decides anew.
#[must_use]
pub fn round_starts(decisions: &[Decision]) -> Vec<RoundStart> {
    let start = |decision: &Decision| match decision {
        Decision::Start { key, attempt, allocation } => Some(RoundStart {
            id: AttemptId { key: *key, attempt: *attempt },
            allocation: allocation.clone(),
            group: None,
        }),
        _ => None,
    };
    decisions.iter().filter_map(start).collect()
}

/// Is a submission beyond the nodes there are, up or down? Asked by the leader before it proposes
/// the job, not by `apply`: the engine may judge otherwise in another version, and replicas of two
/// versions must agree. A held job may wait for nodes to come.
#[must_use]
pub fn never_fits(state: &State, ask: &Ask) -> Option<Refusal> {
    let queue = match &ask.queue {
        Some(name) => state.queue(name),
        None => state.queues().iter().find(|q| q.default),
    }?;
    let nodes = state.nodes().map(|(name, node)| (name, node.inventory.as_ref()));
    let reason = engine::could_ever_fit(nodes, queue, &ask.request).err()?;
    (!ask.hold).then(|| Refusal::NeverFits { reason: Box::new(reason) })
}

fn node_snapshot(state: &State, name: &NodeName, node: &NodeRecord) -> NodeSnapshot {
    let held = state.ledger().on(name);
    let inventory = node.inventory.clone();
    let (no_cpus, no_gpus) = (CpuSet::new(), BTreeSet::new());
    let held_gpus = held.map_or(&no_gpus, Holdings::gpus);
    let gpus = inventory.gpus.iter().map(|gpu| gpu.index);
    let mut free_gpus: Vec<GpuIndex> = gpus.filter(|index| !held_gpus.contains(index)).collect();
    free_gpus.sort_unstable();
    NodeSnapshot {
        name: name.clone(),
        free_cpus: inventory.cpus.difference(held.map_or(&no_cpus, Holdings::cpus)),
        free_memory: inventory.memory.saturating_sub(held.map_or(Bytes::ZERO, Holdings::memory)),
        free_gpus,
        unusable: match (node.contact, &node.drain) {
            (Contact::Silent { .. } | Contact::Lost { .. }, _) => Some(Unusable::Down),
            (Contact::Connected, Some(_)) => Some(Unusable::Drained),
            (Contact::Connected, None) => None,
        },
        exclusive: held.is_some_and(Holdings::is_exclusive),
        inventory,
    }
}

fn waiting(
    key: JobKey,
    record: &Record,
    element: &Element,
    request: Arc<Request>,
) -> Option<WaitingJob> {
    let ask = &record.spec.ask;
    Some(WaitingJob {
        key,
        attempt: element.next_attempt(),
        owner: record.spec.owner.uid,
        queue: ask.queue.clone()?,
        request,
        time_limit: ask.time_limit,
        nice: ask.nice,
        submitted_at: record.submitted_at,
        begin_at: ask.begin_at,
        not_before: element.faults.as_ref().map(|faults| faults.not_before),
        held: element.held,
        array_limit: ask.array.as_ref().and_then(|array| array.limit()),
    })
}

/// `None` once no node holds any of it.
fn running(key: JobKey, record: &Record, run: &Run) -> Option<RunningJob> {
    let ends_by = run.ends_by(&record.spec.ask);
    Some(RunningJob { key, allocation: still_held(run)?, ends_by })
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
