//! Fills an empty cluster job by job, none of which ever ends: how much of the GPUs can be
//! allocated before the rest is unusable. The caller chooses the order of jobs and nodes; nothing
//! is random here.
//!
//! Source: Q. Weng et al., "Beware of Fragmentation" (USENIX ATC'23), section 6.2: jobs arrive one
//! by one; one that finds no place is dropped and not tried again.
//!
//! Example. Nodes a and b of one GPU; jobs 1, 2 and 3 ask for 0.6, 1 and 0.4 of one. Job 1 gets a,
//! job 2 gets b, job 3 gets the rest of a: 1 is allocated. Had job 3 come before job 2 and gone to
//! b, job 2 would be dropped, and 0.5 allocated.

use crate::replay::rename::renamed;
use crate::replay::{Cluster, ReplayError, ask};
use common::id::{Attempt, JobId, JobKey, QueueName, Uid};
use common::policy::Policy;
use common::resource::Request;
use common::time::Time;
use engine::typical::{Typical, typical};
use engine::{Decision, RunningJob, Snapshot, WaitingJob};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::{Job, Node};

#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    /// The jobs of a trace that may arrive. Their times do not matter.
    pub jobs: &'a [Job],
    pub nodes: &'a [Node],
    /// How nodes are chosen: the placement of the default queue.
    pub policy: &'a Policy,
    /// The jobs that arrive, by index in `jobs`; a job may arrive several times.
    pub arrivals: &'a [u32],
    /// The nodes in the order that breaks ties, by index in `nodes`.
    pub order: &'a [u32],
}

/// The result of a filling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Filled {
    /// Thousandths of GPUs that arrived.
    pub arrived_gpu_milli: u64,
    /// Thousandths of GPUs that found a place.
    pub allocated_gpu_milli: u64,
    /// Thousandths of GPUs in all.
    pub gpu_milli: u64,
    /// Jobs that found a place.
    pub placed: u32,
    /// Jobs that did not.
    pub dropped: u32,
    /// Allocated of all, from 0 to 1; zero without GPUs.
    pub allocated_ratio: f64,
}

/// Thousandths of GPUs of all nodes.
#[must_use]
pub fn capacity(nodes: &[Node]) -> u64 {
    nodes.iter().map(|node| 1000 * u64::from(node.gpus.0)).sum()
}

/// Fills the cluster.
///
/// # Errors
/// [`ReplayError`] for more arrivals than there are job numbers.
pub fn fill(filling: &Filling<'_>) -> Result<Filled, ReplayError> {
    let arrivals = filling.arrivals.len();
    if u32::try_from(arrivals).is_err() {
        return Err(ReplayError::TooManyJobs { jobs: arrivals, most: u32::MAX });
    }
    let cluster = Cluster::with_node_order(filling.nodes, filling.jobs, filling.order);
    let requests = requests(filling.jobs, &cluster);
    let mut snapshot = Snapshot::default();
    snapshot.set_policy(Arc::new(renamed(filling.policy, &cluster, filling.nodes)));
    cluster.snapshots().iter().for_each(|node| snapshot.set_node(node));
    snapshot.set_typical(typical_of(&requests));
    let queue = default_queue(filling.policy);
    let mut filled = Filled {
        arrived_gpu_milli: 0,
        allocated_gpu_milli: 0,
        gpu_milli: capacity(filling.nodes),
        placed: 0,
        dropped: 0,
        allocated_ratio: 0.0,
    };
    for (number, which) in (1..).map(JobId).zip(filling.arrivals) {
        let Some(job) = filling.jobs.get(*which as usize) else { continue };
        let key = JobKey::single(number);
        let milli = asked_gpu_milli(job);
        filled.arrived_gpu_milli += milli;
        snapshot.set_waiting(waiting_job(key, &queue, &requests[*which as usize]));
        if let Some(running) = start_waiting_job(&mut snapshot, key, &queue) {
            snapshot.set_running(running);
            filled.placed += 1;
            filled.allocated_gpu_milli += milli;
        } else {
            snapshot.remove_job(key);
            filled.dropped += 1;
        }
    }
    if filled.gpu_milli > 0 {
        #[allow(clippy::cast_precision_loss)]
        let ratio = filled.allocated_gpu_milli as f64 / filled.gpu_milli as f64;
        filled.allocated_ratio = ratio;
    }
    Ok(filled)
}

/// Equal requests share one object.
fn requests(jobs: &[Job], cluster: &Cluster) -> Vec<Arc<Request>> {
    let mut known: BTreeMap<Request, Arc<Request>> = BTreeMap::new();
    let mut shared = |job: &Job| {
        let request = ask::request(job, cluster.scale());
        known.entry(request).or_insert_with_key(|request| Arc::new(request.clone())).clone()
    };
    jobs.iter().map(&mut shared).collect()
}

fn typical_of(requests: &[Arc<Request>]) -> Vec<Typical> {
    typical(requests.iter().map(|request| (&**request, 1)))
}

fn default_queue(policy: &Policy) -> QueueName {
    let default = policy.queues.iter().find(|queue| queue.default).or(policy.queues.first());
    default.map_or_else(ask::unknown_queue, |queue| queue.name.clone())
}

fn waiting_job(key: JobKey, queue: &QueueName, request: &Arc<Request>) -> WaitingJob {
    WaitingJob {
        key,
        attempt: Attempt(1),
        owner: Uid(1000),
        queue: queue.clone(),
        account: None,
        qos: None,
        request: request.clone(),
        time_limit: None,
        nice: 0,
        submitted_at: Time(0),
        begin_at: None,
        not_before: None,
        deadline: None,
        held: false,
        array_limit: None,
        preemptible: Some(false),
        reservation: None,
        service: false,
        together: None,
        near_all: None,
        expected: None,
        awaits: false,
    }
}

/// Starts the only waiting job. `None`: it found no place.
fn start_waiting_job(
    snapshot: &mut Snapshot,
    key: JobKey,
    queue: &QueueName,
) -> Option<RunningJob> {
    snapshot.prepare_for_round(Time(0));
    let round = engine::schedule(snapshot, Time(0));
    let allocation = round.decisions.into_iter().find_map(|decision| match decision {
        Decision::Start { key: started, allocation, .. } if started == key => Some(allocation),
        _ => None,
    })?;
    Some(RunningJob {
        key,
        attempt: Attempt(1),
        allocation: Arc::new(allocation),
        ends_by: None,
        owner: Uid(1000),
        queue: queue.clone(),
        account: None,
        qos: None,
        nice: 0,
        submitted_at: Time(0),
        started_at: Time(0),
        saved_at: None,
        whole_nodes: false,
        group: None,
        preemptible: false,
        victim_mode: common::policy::VictimMode::Requeue,
        ending: false,
        yields_to: None,
        nodes_min: None,
        leaving: 0,
    })
}

/// The thousandths of GPUs that one arrival asks for.
#[must_use]
pub fn asked_gpu_milli(job: &Job) -> u64 {
    job.gpu_milli_total().0.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Named;
    use common::policy::Placement;
    use trace::{read_jobs, read_nodes};

    fn filled(placement: Placement, arrivals: &[u32], order: &[u32]) -> Filled {
        let head = "job_id,submit_s,runtime_s,nodes,gpus_per_node,gpu_fraction_milli";
        let rows = "1,0,9,1,1,600\n2,0,9,1,1,1000\n3,0,9,1,1,400\n";
        let jobs = read_jobs("j", format!("{head}\n{rows}").as_bytes()).unwrap();
        let nodes = read_nodes("n", b"name,gpus\na,1\nb,1\n").unwrap();
        let mut policy = Named::Befifo.policy();
        policy.queues[0].placement = placement;
        let (jobs, nodes, policy) = (&jobs, &nodes, &policy);
        fill(&Filling { jobs, nodes, policy, arrivals, order }).unwrap()
    }

    #[test]
    fn the_example() {
        let all = filled(Placement::Binpack, &[0, 1, 2], &[0, 1]);
        assert_eq!((all.placed, all.dropped, all.allocated_ratio), (3, 0, 1.0));
        let spread = filled(Placement::Spread, &[0, 2, 1], &[0, 1]);
        assert_eq!((spread.placed, spread.dropped, spread.allocated_ratio), (2, 1, 0.5));
        assert_eq!((spread.arrived_gpu_milli, spread.gpu_milli), (2000, 2000));
    }

    #[test]
    fn a_job_that_was_dropped_is_not_tried_again_and_the_same_may_come_twice() {
        let twice = filled(Placement::First, &[1, 1, 1, 0], &[1, 0]);
        assert_eq!((twice.placed, twice.dropped), (2, 2));
    }
}
