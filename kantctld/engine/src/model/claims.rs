//! Claims of jobs in the usage accounting: running jobs by what they hold, waiting jobs by what
//! they ask for. `usage_accounting` decides whether a claim is admitted.

use crate::model::cluster::class::Class;
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::demand::Demand;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::shape::Shape;
use crate::model::usage_accounting::{Claim, Principal, UsageAccounting};
use common::gpu::GpuKind;
use common::resource::{GpuRequest, Share};
use common::unit::{Bytes, Cpus, GpuMilli, Nodes};

/// What a running job holds on nodes at these positions. GPUs of unknown nodes count as of no kind.
pub(crate) fn of_running(
    job: &RunningJob,
    places: &[Option<NodeIndex>],
    cluster: &ClusterIndex,
    accounting: &mut UsageAccounting,
) -> Claim {
    let principal =
        accounting.principal(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
    let mut claim = Claim::new(principal);
    for (share, at) in job.allocation.shares().iter().zip(places) {
        add_share(&mut claim, share, at.map(|at| &*cluster.node(at).class), accounting);
    }
    claim
}

/// The claim of some shares of a running job, counted as `jobs` jobs: 0 if the job runs on without
/// them.
pub(crate) fn of_part(
    job: &RunningJob,
    jobs: u32,
    shares: &[Share],
    cluster: &ClusterIndex,
    accounting: &UsageAccounting,
) -> Claim {
    let principal =
        accounting.known_principal(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
    debug_assert!(jobs <= 1, "a part of one job counts as no job or as one");
    let mut claim = Claim::new(principal);
    claim.jobs = jobs;
    for (share, at) in shares.iter().zip(cluster.node_indices(shares)) {
        add_share(&mut claim, share, at.map(|at| &*cluster.node(at).class), accounting);
    }
    claim
}

/// The claim of a job with these shares, each on a node.
pub(crate) fn of_start<'a>(
    job: &WaitingJob,
    shares: impl Iterator<Item = (&'a Share, NodeIndex)>,
    cluster: &ClusterIndex,
    accounting: &mut UsageAccounting,
) -> Claim {
    let principal =
        accounting.principal(&job.queue, job.owner, job.account.as_ref(), job.qos.as_ref());
    let mut claim = Claim::new(principal);
    for (share, at) in shares {
        add_share(&mut claim, share, Some(&cluster.node(at).class), accounting);
    }
    claim
}

fn add_share(
    claim: &mut Claim,
    share: &Share,
    class: Option<&Class>,
    accounting: &UsageAccounting,
) {
    claim.cpus += Cpus(share.cpus.len());
    claim.memory += share.memory;
    let each = share.gpu_milli.unwrap_or(GpuMilli::WHOLE);
    // Most GPUs of a node are of one kind.
    let mut last: (Option<&GpuKind>, _) = (None, None);
    for index in &share.gpus {
        let kind = class.and_then(|class| class.kind_at(class.position(*index)?));
        let is_same = kind.zip(last.0).is_some_and(|(kind, last)| std::ptr::eq(kind, last));
        if kind.is_some() && !is_same {
            last = (kind, kind.and_then(|kind| accounting.kind(kind)));
        }
        claim.add_gpus(kind.and(last.1), each);
    }
}

/// What a waiting job of this shape asks for before its nodes are known; an elastic job with its
/// minimum.
pub(crate) fn of_shape(
    shape: &Shape<'_>,
    principal: Principal,
    accounting: &UsageAccounting,
) -> Claim {
    let fewest = shape.with_fewest_tasks();
    of_demand(&fewest.demand, fewest.node_count().unwrap_or(Nodes(1)), principal, accounting)
}

/// What a waiting job asks for on `nodes` nodes, before those are known. A job for whole nodes asks
/// at least for what it names.
pub(crate) fn of_demand(
    demand: &Demand<'_>,
    nodes: Nodes,
    principal: Principal,
    accounting: &UsageAccounting,
) -> Claim {
    let request = demand.request;
    let mut claim = Claim::new(principal);
    claim.cpus = request.cpus_per_task.times(demand.tasks.0);
    let gpus = gpus(demand, nodes);
    if gpus.0 > 0 {
        let kind = match &request.gpu_kind {
            None => accounting.only_kind(),
            Some(kind) if request.gpu_kinds_or.is_empty() => accounting.kind(kind),
            Some(_) => None,
        };
        claim.add_gpus(kind, gpus);
    }
    claim.memory = (0..nodes.0.max(1))
        .map(|rank| demand.amounts_of(demand.even_part(nodes, rank), Bytes::ZERO).memory)
        .sum();
    claim
}

/// All GPUs that the job asks for, in thousandths. Shares by memory count at their maximum.
pub(crate) fn gpus(demand: &Demand<'_>, nodes: Nodes) -> GpuMilli {
    let whole = |gpus: u32| GpuMilli::WHOLE.times(gpus);
    if let Some(parts) = demand.parts {
        return parts.most.times(parts.devices.0);
    }
    match demand.request.gpus {
        None | Some(GpuRequest::Parts(_)) => GpuMilli::ZERO,
        Some(GpuRequest::PerNode(each)) => whole(each.times(nodes.0.max(1)).0),
        Some(GpuRequest::PerTask(each)) => whole(each.times(demand.tasks.0).0),
        Some(GpuRequest::Total(all)) => whole(all.0),
    }
}
