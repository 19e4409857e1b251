//! What jobs of a trace ask for, and who asks, in the engine's words. Never decides whether they
//! get it.
//!
//! A job goes to the queue that is called like its group, else to the default queue; it has its
//! QoS and its account, else its group's, where the policy lists them. What a trace does not
//! record costs next to nothing: one CPU, one byte.

use super::cluster::{CpuScale, kind_of};
use crate::trace::Job;
use common::gpu::GpuKind;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{AccountName, QosName, QueueName, Uid};
use common::policy::Policy;
use common::resource::{GpuRequest, MemoryRequest, PerNodeMax, Request};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Tasks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Memory of a job that does not say; zero would mean all of a node. Nodes have as much more than
/// is recorded for each job that finds a CPU there ([`super::cluster`]): it never decides anything.
pub(super) const MEMORY_UNKNOWN: Bytes = Bytes(1);

/// The first user of a trace; below are the system's.
const FIRST_UID: u32 = 1000;

/// Who a job belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Party {
    pub owner: Uid,
    pub queue: QueueName,
    pub account: Option<AccountName>,
    pub qos: Option<QosName>,
}

/// Turns jobs of a trace into requests, equal ones into the same.
#[derive(Debug)]
pub(super) struct Asks<'a> {
    policy: &'a Policy,
    scale: CpuScale,
    requests: BTreeSet<Arc<Request>>,
    users: BTreeMap<String, Uid>,
}

impl<'a> Asks<'a> {
    pub const fn new(policy: &'a Policy, scale: CpuScale) -> Self {
        Self { policy, scale, requests: BTreeSet::new(), users: BTreeMap::new() }
    }

    /// What a job asks for.
    pub fn request(&mut self, job: &Job) -> Arc<Request> {
        let request = request(job, self.scale);
        if let Some(known) = self.requests.get(&request) {
            return known.clone();
        }
        let request = Arc::new(request);
        self.requests.insert(request.clone());
        request
    }

    /// Whose a job is. Users are numbered as they come; nobody in particular is one user too.
    pub fn party(&mut self, job: &Job) -> Party {
        let next = Uid(FIRST_UID + u32::try_from(self.users.len()).unwrap_or(u32::MAX / 2));
        let owner = *self.users.entry(job.user.clone()).or_insert(next);
        let queues = &self.policy.queues;
        let parents = || queues.iter().filter_map(|queue| queue.parent.as_ref());
        let is_leaf = |name: &QueueName| parents().all(|parent| parent != name);
        let queue = queues
            .iter()
            .find(|queue| queue.name.as_str() == job.group && is_leaf(&queue.name))
            .or_else(|| queues.iter().find(|queue| queue.default));
        let qos = self.policy.qos.iter().find(|qos| qos.name.as_str() == job.qos);
        let charged = if job.account.is_empty() { &job.group } else { &job.account };
        let mut accounts = self.policy.accounts.iter();
        let account = accounts.find(|account| account.name.as_str() == *charged);
        Party {
            owner,
            queue: queue.map_or_else(nowhere, |queue| queue.name.clone()),
            account: account.map(|account| account.name.clone()),
            qos: qos.map(|qos| qos.name.clone()),
        }
    }
}

/// The queue of a job where the policy has none for it; the engine says that it is gone.
pub(crate) fn nowhere() -> QueueName {
    QueueName::new("none").expect("letters make a name")
}

/// What a job asks for, on each of its nodes.
pub(crate) fn request(job: &Job, scale: CpuScale) -> Request {
    let mut kinds: Vec<GpuKind> = job.gpu_models.iter().map(|model| kind_of(model)).collect();
    kinds.sort();
    kinds.dedup();
    let mut kinds = kinds.into_iter();
    let gpus = match (job.gpus_per_node, job.gpu_fraction) {
        (Gpus::ZERO, _) | (_, GpuMilli::ZERO) => None,
        (gpus, GpuMilli::WHOLE) => Some(GpuRequest::PerNode(gpus)),
        (devices, share) => {
            Some(GpuRequest::Parts(GpuParts { devices, each: PartSize::Milli(share) }))
        }
    };
    let memory = job.mem_mib.filter(|mib| *mib > 0).map_or(MEMORY_UNKNOWN, Bytes::from_mib);
    let per_node_max = job.max_per_node();
    Request {
        nodes: Some(job.nodes),
        tasks: Tasks(job.nodes.0),
        cpus_per_task: job.cpus.map_or(Cpus(1), |cpus| scale.asked(cpus)),
        memory: Some(MemoryRequest::PerNode(memory)),
        gpu_kind: kinds.next().filter(|_| gpus.is_some()),
        gpu_kinds_or: if gpus.is_some() { kinds.collect() } else { Vec::new() },
        gpus,
        per_node_max: per_node_max.map(|jobs| PerNodeMax { group: job.group.clone(), jobs }),
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Named;
    use super::*;
    use crate::trace::read_jobs;
    use common::unit::Nodes;

    fn jobs(header: &str, rows: &str) -> Vec<Job> {
        let text = format!("job_id,submit_s,runtime_s,nodes,gpus_per_node{header}\n{rows}");
        read_jobs("jobs", text.as_bytes()).unwrap()
    }

    #[test]
    fn a_gang_asks_for_nodes_a_share_for_a_part_of_one_gpu() {
        let scale = CpuScale::of(&[], &[]);
        let header = ",gpu_fraction_milli,gpu_model,constraint,group";
        let rows = "1,0,5,3,8,1000,,,a\n2,0,5,1,1,250,V100M16|A10,max_per_node=2,b\n";
        let jobs = jobs(header, rows);
        let gang = request(&jobs[0], scale);
        assert_eq!((gang.nodes, gang.tasks), (Some(Nodes(3)), Tasks(3)));
        assert_eq!(gang.gpus, Some(GpuRequest::PerNode(Gpus(8))));
        let share = request(&jobs[1], scale);
        assert_eq!(share.gpus, Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(250)))));
        let kinds = [GpuKind("a10".to_owned()), GpuKind("v100m16".to_owned())];
        assert!(kinds.iter().all(|kind| share.accepts(kind)));
        let group = "b".to_owned();
        assert_eq!(share.per_node_max, Some(PerNodeMax { group, jobs: 2 }));
    }

    #[test]
    fn a_job_goes_to_the_queue_of_its_group_else_to_the_default() {
        let mut policy = Named::Fifo.policy();
        let mut other = policy.queues[0].clone();
        (other.name, other.default) = (QueueName::new("vision").unwrap(), false);
        policy.queues.push(other);
        let jobs = jobs(",user,group", "1,0,5,1,1,ann,vision\n2,0,5,1,1,bob,speech\n");
        let mut asks = Asks::new(&policy, CpuScale::of(&[], &jobs));
        let (first, second) = (asks.party(&jobs[0]), asks.party(&jobs[1]));
        assert_eq!((first.queue.as_str(), second.queue.as_str()), ("vision", "default"));
        assert_eq!((first.owner, second.owner), (Uid(1000), Uid(1001)));
        assert_eq!(asks.party(&jobs[0]).owner, Uid(1000));
        assert!(Arc::ptr_eq(&asks.request(&jobs[0]), &asks.request(&jobs[1])));
    }
}
