//! The judge: are these decisions allowed, and do they fit together? It goes by the snapshot and
//! the requests alone. Never shares code with what it judges, and never judges taste: any place
//! that the request allows is right.

use crate::decision::Decision;
use crate::snapshot::{NodeSnapshot, Snapshot, WaitingJob};
use common::cpuset::CpuSet;
use common::id::{GpuIndex, JobId, JobKey, NodeName};
use common::queue::Queue;
use common::resource::{Allocation, GpuRequest, MemoryRequest, Share};
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One thing that is wrong with a list of decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The job it is about.
    pub key: JobKey,
    /// What is wrong, as the rest of a sentence that begins with the job.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {} {}", self.key, self.what)
    }
}

/// All that is wrong with these decisions; empty if nothing is.
#[must_use]
pub fn check(snapshot: &Snapshot, now: Time, decisions: &[Decision]) -> Vec<Violation> {
    let mut judge = Judge::new(snapshot, now);
    for decision in decisions {
        match decision {
            Decision::Start { key, attempt, allocation } => {
                judge.key = *key;
                match judge.waiting.get(key).copied() {
                    None => judge.fault("starts but does not wait"),
                    Some(job) => {
                        judge.expect(job.attempt == *attempt, "starts as another attempt");
                        judge.start(job, allocation);
                    }
                }
            }
        }
    }
    judge.violations
}

/// What a node has left, as the judge counts it.
struct Left<'a> {
    node: &'a NodeSnapshot,
    cpus: BTreeSet<u32>,
    gpus: BTreeSet<GpuIndex>,
    memory_bytes: u64,
    closed: bool,
}

struct Judge<'a> {
    now: Time,
    queues: BTreeMap<&'a str, &'a Queue>,
    waiting: BTreeMap<JobKey, &'a WaitingJob>,
    started: BTreeSet<JobKey>,
    arrays: BTreeMap<JobId, u32>,
    left: BTreeMap<&'a NodeName, Left<'a>>,
    /// The job being judged.
    key: JobKey,
    violations: Vec<Violation>,
}

impl<'a> Judge<'a> {
    fn new(snapshot: &'a Snapshot, now: Time) -> Self {
        let left = |node: &'a NodeSnapshot| Left {
            node,
            cpus: node.free_cpus.iter().collect(),
            gpus: node.free_gpus.iter().copied().collect(),
            memory_bytes: node.free_memory.0,
            closed: node.exclusive,
        };
        Self {
            now,
            queues: snapshot.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect(),
            waiting: snapshot.waiting.iter().map(|job| (job.key, job)).collect(),
            started: BTreeSet::new(),
            arrays: snapshot.array_running.clone(),
            left: snapshot.nodes.iter().map(|node| (&node.name, left(node))).collect(),
            key: JobKey::single(JobId(0)),
            violations: Vec::new(),
        }
    }

    fn fault(&mut self, what: impl Into<String>) {
        self.violations.push(Violation { key: self.key, what: what.into() });
    }

    fn expect(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.fault(otherwise);
        }
    }

    fn start(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let first = self.started.insert(job.key);
        self.expect(first, "starts twice");
        self.expect(!job.held, "starts though held");
        self.expect(job.begin_at.is_none_or(|at| at <= self.now), "starts before its begin time");
        self.expect(job.not_before.is_none_or(|at| at <= self.now), "starts during its back-off");
        if let Some(limit) = job.array_limit {
            let running = self.arrays.entry(job.key.job).or_default();
            *running += 1;
            let running = *running;
            self.expect(running <= limit, "starts beyond the limit of its array");
        }
        self.check_sums(job, allocation);
        let Some(queue) = self.queues.get(job.queue.as_str()).copied() else {
            return self.fault("starts from a queue there is not");
        };
        for share in allocation.shares() {
            self.check_share(job, queue, share);
            self.take(job, share);
        }
    }

    /// What must hold over all nodes of a job.
    fn check_sums(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let (request, shares) = (&job.request, allocation.shares());
        let sum = |of: fn(&Share) -> usize| shares.iter().map(of).sum::<usize>();
        let tasks = sum(|share| share.tasks.0 as usize);
        self.expect(tasks == request.tasks.0 as usize, "does not get all of its tasks placed");
        let nodes = request.nodes.map_or(shares.len(), |nodes| nodes.0 as usize);
        self.expect(shares.len() == nodes, "does not get the nodes it asked for");
        if let Some(GpuRequest::Total(total)) = request.gpus {
            let (got, total) = (sum(|share| share.gpus.len()), total.0 as usize);
            let enough = if request.exclusive { got >= total } else { got == total };
            self.expect(enough, "does not get the GPUs it asked for in all");
        }
        let even = request.nodes.is_some() || matches!(request.gpus, Some(GpuRequest::Total(_)));
        if even {
            let counts = || shares.iter().map(|share| share.tasks.0);
            let range = counts().max().unwrap_or(0) - counts().min().unwrap_or(0);
            self.expect(range <= 1, "has its tasks spread unevenly");
        }
    }

    /// What must hold on each node of a job, whatever is free.
    fn check_share(&mut self, job: &WaitingJob, queue: &Queue, share: &Share) {
        let request = &job.request;
        let Some(node) = self.left.get(&share.node).map(|left| left.node) else {
            return self.fault(format!("gets node {}, which there is not", share.node));
        };
        let named = |names: &[NodeName]| names.contains(&share.node);
        let mut rule = |holds: bool, otherwise: &str| {
            self.expect(holds, &format!("on {}: {otherwise}", share.node));
        };
        rule(node.unusable.is_none(), "the node is down or drained");
        rule(queue.nodes.is_empty() || named(&queue.nodes), "the node is not in its queue");
        rule(request.only_nodes.is_empty() || named(&request.only_nodes), "not a node it named");
        rule(!named(&request.not_nodes), "a node it excluded");

        let tasks = u64::from(share.tasks.0);
        rule(tasks > 0, "no task runs there");
        let most = request.tasks_per_node.map_or(u64::MAX, |most| most.0.into());
        rule(tasks <= most, "more tasks than it allows on a node");

        let asked_cpus = tasks * u64::from(request.cpus_per_task.0);
        let got_cpus = u64::from(share.cpus.len());
        let core_max = node.inventory.cores.iter().map(CpuSet::len).max().unwrap_or(1);
        rule(got_cpus >= asked_cpus, "fewer CPUs than its tasks need");
        let spare = got_cpus.saturating_sub(asked_cpus);
        rule(request.exclusive || spare < u64::from(core_max), "a core more than it needs");
        let whole = |core: &CpuSet| !core.intersects(&share.cpus) || core.is_subset(&share.cpus);
        rule(node.inventory.cores.iter().all(whole), "a core is split");

        rule(share.gpus.windows(2).all(|pair| pair[0] < pair[1]), "GPUs not rising");
        let gpus = share.gpus.len() as u64;
        let asked_gpus = match request.gpus {
            None => Some(0),
            Some(GpuRequest::PerNode(count)) => Some(u64::from(count.0)),
            Some(GpuRequest::PerTask(count)) => Some(tasks * u64::from(count.0)),
            Some(GpuRequest::Fraction(_)) => Some(1),
            Some(GpuRequest::Total(_)) => None,
        };
        let right =
            asked_gpus.is_none_or(|asked| gpus == asked || request.exclusive && gpus >= asked);
        rule(right, "not the GPUs it asked for");
        let is_kind = |index: &GpuIndex| {
            let gpu = node.inventory.gpus.iter().find(|gpu| gpu.index == *index);
            request.gpu_kind.as_ref().is_none_or(|kind| gpu.is_some_and(|gpu| gpu.kind == *kind))
        };
        rule(request.exclusive || share.gpus.iter().all(is_kind), "a GPU of another kind");

        let all = node.inventory.memory.0;
        let product = |each: u64, count: u64| u128::from(each) * u128::from(count);
        let asked_memory = match request.memory {
            Some(MemoryRequest::PerNode(bytes)) if bytes.0 == 0 => all.into(),
            Some(MemoryRequest::PerNode(bytes)) => bytes.0.into(),
            Some(MemoryRequest::PerCpu(bytes)) => product(bytes.0, asked_cpus),
            // A job for whole nodes gets all GPUs, but memory only for those it asked for.
            Some(MemoryRequest::PerGpu(_)) if request.exclusive => share.memory.0.into(),
            Some(MemoryRequest::PerGpu(bytes)) => product(bytes.0, gpus),
            None if request.exclusive => all.into(),
            None => product(queue.memory_per_cpu.0, asked_cpus),
        };
        rule(u128::from(share.memory.0) == asked_memory, "not the memory it asked for");
    }

    /// Takes a share off what is left.
    fn take(&mut self, job: &WaitingJob, share: &Share) {
        let Some(left) = self.left.get_mut(&share.node) else { return };
        let mut faults = Vec::new();
        if left.closed {
            faults.push("another job has the whole node".to_owned());
        }
        if job.request.exclusive {
            let has = &left.node.inventory;
            let idle = left.cpus.len() == has.cpus.len() as usize
                && left.gpus.len() == has.gpus.len()
                && left.memory_bytes == has.memory.0;
            if !idle {
                faults.push("it wants the whole node, which is in use".to_owned());
            }
            if share.cpus != has.cpus || share.gpus.len() != has.gpus.len() {
                faults.push("it wants the whole node and gets less".to_owned());
            }
            left.closed = true;
        }
        faults.extend(
            share
                .cpus
                .iter()
                .filter(|cpu| !left.cpus.remove(cpu))
                .map(|cpu| format!("CPU {cpu} is not free")),
        );
        faults.extend(
            share
                .gpus
                .iter()
                .filter(|gpu| !left.gpus.remove(gpu))
                .map(|gpu| format!("GPU {gpu} is not free")),
        );
        match left.memory_bytes.checked_sub(share.memory.0) {
            Some(rest) => left.memory_bytes = rest,
            None => faults.push(format!("{} memory is more than is free", share.memory)),
        }
        for fault in faults {
            self.fault(format!("on {}: {fault}", share.node));
        }
    }
}

#[cfg(test)]
mod tests;
