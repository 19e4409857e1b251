//! Converts jobs of a trace, and their users, to the engine's terms.
//!
//! A job goes to the queue with the name of its group, otherwise to the default queue. It has its
//! QoS and its account, otherwise its group's, if the policy lists them. What a trace does not
//! record costs next to nothing: one CPU, one byte.

use super::cluster::{CpuScale, kind_of};
use common::gpu::GpuKind;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{AccountName, QosName, QueueName, Uid};
use common::policy::Policy;
use common::resource::{Apart, GpuRequest, MemoryRequest, Request};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Tasks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trace::Job;

/// Memory of a job without a recorded demand; zero would mean all of a node. A node has this much
/// more than is recorded for each job that finds a CPU there ([`super::cluster`]), so it never
/// decides anything.
pub(super) const MEMORY_UNKNOWN: Bytes = Bytes(1);

/// The first user of a trace. Smaller ids belong to the system.
const FIRST_UID: u32 = 1000;

/// The user, queue, QoS and account of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Party {
    pub owner: Uid,
    pub queue: QueueName,
    pub account: Option<AccountName>,
    pub qos: Option<QosName>,
}

/// Converts jobs of a trace to requests. Equal ones share one request.
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

    /// The party of a job. Users are numbered as they appear; an empty name is one user, too.
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
            queue: queue.map_or_else(unknown_queue, |queue| queue.name.clone()),
            account: account.map(|account| account.name.clone()),
            qos: qos.map(|qos| qos.name.clone()),
        }
    }
}

/// The queue of a job for which the policy has none. The engine reports that it does not exist.
pub(crate) fn unknown_queue() -> QueueName {
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
        cpus_per_task: job.cpus.map_or(Cpus(1), |cpus| scale.scale_asked(cpus)),
        memory: Some(MemoryRequest::PerNode(memory)),
        gpu_kind: kinds.next().filter(|_| gpus.is_some()),
        gpu_kinds_or: if gpus.is_some() { kinds.collect() } else { Vec::new() },
        gpus,
        apart: per_node_max.map(|_| Apart { group: job.group.clone(), per_node_max, spread: None }),
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Named;
    use super::*;
    use common::unit::Nodes;
    use trace::read_jobs;

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
        assert_eq!(share.apart, Some(Apart { group, per_node_max: Some(2), spread: None }));
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
