//! Refuses submissions that could never start, with a hint at what could: requests beyond the
//! nodes, quotas or limits, requests for nearness without a topology, and sets whose components fit
//! only one by one. A held job is not refused, since it may wait for nodes or another
//! configuration.

use crate::state::State;
use common::gpu::GpuKind;
use common::gpu::mig;
use common::id::{Attempt, JobId, JobKey, QueueName, Uid};
use common::job::Ask;
use common::policy::queue::Queue;
use common::reason::{BadRequest, Mend, Refusal, WaitReason};
use common::resource::{GpuRequest, Request};
use common::time::Span;
use common::unit::{Gpus, Nodes, Tasks};
use engine::{Snapshot, WaitingJob};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of equal parts into which a request for GPUs is divided in search of a hint.
const PARTS_MAX: u32 = 64;

/// Whether a submission could never start. The leader asks before it proposes the job. `apply` does
/// not, because engines of different versions may disagree, and replicas must not.
#[must_use]
pub fn never_fits(state: &State, snapshot: &Snapshot, ask: &Ask) -> Option<Refusal> {
    if ask.hold {
        return None;
    }
    let named = |name: &QueueName| state.queue(name);
    let default = || state.queues().iter().find(|queue| queue.default);
    let queue = ask.queue.as_ref().map_or_else(default, named)?;
    if let Err(reason) = engine::could_ever_fit(snapshot, queue, &ask.request, ask.service) {
        let mut named = ask.request.only_nodes.iter();
        if let Some(name) = named.find(|name| state.node(name).is_none()) {
            return Some(Refusal::UnknownNode { name: name.clone() });
        }
        if let Some(refusal) = feature_refusal(state, ask) {
            return Some(refusal);
        }
        let mend = suggest_smaller(state, snapshot, queue, ask, &reason);
        return Some(Refusal::NeverFits { reason: Box::new(reason), mend });
    }
    let near = ask.request.near.filter(|near| near.required);
    if let Some(level) = near.map(|near| near.level).filter(|level| {
        let topology = state.settings().map(|settings| &settings.topology);
        !topology.is_some_and(|t| {
            t.0.values().any(|position| position.switch_at_level(*level).is_some())
        })
    }) {
        return Some(Refusal::NoSuchLevel { level });
    }
    if let Err(reason) = engine::could_ever_be_near(snapshot, queue, &ask.request, ask.service) {
        let mend = Some(Mend::LeaveRequiredOut);
        return Some(Refusal::NeverFits { reason: Box::new(reason), mend });
    }
    let reason = snapshot.could_ever_be_admitted(&as_waiting_job(state, queue, ask)).err()?;
    Some(Refusal::NeverAdmitted { reason: Box::new(reason) })
}

/// Whether components that fit one by one could never start together. Asked by the leader, like
/// [`never_fits`].
#[must_use]
pub fn never_fit_together(state: &State, snapshot: &Snapshot, asks: &[Ask]) -> Option<Refusal> {
    if asks.iter().any(|ask| ask.hold) {
        return None;
    }
    let default = || state.queues().iter().find(|queue| queue.default);
    let of = |ask: &Ask| {
        let queue = ask.queue.as_ref().map_or_else(default, |name| state.queue(name))?;
        Some(as_waiting_job(state, queue, ask))
    };
    let components: Option<Vec<WaitingJob>> = asks.iter().map(of).collect();
    let (place, reason) = engine::could_ever_start_together(snapshot, components?).err()?;
    if reason.is_for_ever() {
        return Some(Refusal::NeverAdmitted { reason: Box::new(reason) });
    }
    Some(BadRequest::NeverTogether { place, reason }.into())
}

/// The refusal of a constraint that no known node satisfies.
fn feature_refusal(state: &State, ask: &Ask) -> Option<Refusal> {
    let asked = ask.request.constraint.as_ref()?;
    let features = || state.nodes().map(|(_, node)| &node.inventory.features);
    if features().any(|features| asked.holds(features)) {
        return None;
    }
    let known = features().flatten().cloned().collect();
    Some(BadRequest::NoSuchFeature { asked: asked.clone(), known }.into())
}

/// The submission as the engine would see it.
fn as_waiting_job(state: &State, queue: &Queue, ask: &Ask) -> WaitingJob {
    let qos = ask.qos.as_ref().and_then(|name| state.qos(name));
    let usual = queue.time_limit_default.or(queue.time_limit_max);
    let usual: Option<Span> = usual.into_iter().chain(qos.and_then(|qos| qos.time_limit_max)).min();
    WaitingJob {
        key: JobKey::single(JobId(0)),
        attempt: Attempt(1),
        owner: Uid(0),
        queue: queue.name.clone(),
        account: ask.account.clone(),
        qos: ask.qos.clone(),
        request: Arc::new(ask.request.clone()),
        time_limit: ask.time_limit.or(usual.filter(|_| !ask.unlimited)),
        nice: ask.nice,
        submitted_at: state.now(),
        begin_at: ask.begin_at,
        not_before: None,
        deadline: ask.deadline,
        held: false,
        awaits: false,
        array_limit: None,
        preemptible: ask.preemptible,
        reservation: ask.reservation.clone(),
        service: ask.service,
        together: None,
        near_all: None,
        expected: None,
    }
}

/// What would fit.
fn suggest_smaller(
    state: &State,
    snapshot: &Snapshot,
    queue: &Queue,
    ask: &Ask,
    reason: &WaitReason,
) -> Option<Mend> {
    let WaitReason::NeverFits { need, .. } = reason else { return None };
    let kinds: BTreeSet<&GpuKind> = state
        .nodes()
        .flat_map(|(_, node)| node.inventory.gpus.iter().map(|gpu| &gpu.kind))
        .collect();
    if kinds.is_empty() && need.gpus > Gpus(0) {
        return Some(Mend::LeaveGpusOut);
    }
    let asks_some = need.gpu_kind.is_some() || need.gpus > Gpus(0);
    if asks_some && !kinds.iter().any(|kind| mig::accepts(need.gpu_kind.iter(), kind)) {
        let all: Vec<GpuKind> = kinds.into_iter().cloned().collect();
        return (!all.is_empty()).then_some(Mend::OtherKinds(all));
    }
    let GpuRequest::Total(gpus) = ask.request.gpus? else { return None };
    if ask.request.nodes.is_some() || ask.request.tasks != Tasks(1) {
        return None;
    }
    let parts = (2..=gpus.0.min(PARTS_MAX)).filter(|parts| gpus.0.is_multiple_of(*parts));
    let fits = |parts: &u32| {
        let each = GpuRequest::PerNode(Gpus(gpus.0 / parts));
        let (nodes, tasks) = (Some(Nodes(*parts)), Tasks(*parts));
        let request = Request { nodes, tasks, gpus: Some(each), ..ask.request.clone() };
        engine::could_ever_fit(snapshot, queue, &request, ask.service).is_ok()
    };
    let nodes = parts.into_iter().find(fits)?;
    let (kind, each) = (ask.request.gpu_kind.clone(), Gpus(gpus.0 / nodes));
    Some(Mend::Split { nodes: Nodes(nodes), kind, each })
}
