//! What jobs hold, as a plan counts it: one task per node share, and how many of them the job
//! needs.

use super::view::{View, amount, may_be_preempted, priority};
use super::world::{GpuAsk, Job, NodeAt, Task, TaskState};
use crate::cluster::ClusterIndex;
use crate::job::{RunningJob, WaitingJob};
use crate::planner::RoundState;
use common::policy::{Policy, YieldsFirst};
use common::resource::{Allocation, Share};

impl<'a> View<'a> {
    /// Adds a running job.
    pub(super) fn runs(&mut self, desk: &RoundState<'a>, job: &RunningJob) {
        let queue = desk.queues.get(&job.queue);
        let state = match (job.ending, queue) {
            (true, _) => TaskState::Leaving,
            (false, Some(_)) => TaskState::Running,
            // Its queue no longer exists: it belongs to no queue's share and still holds its nodes.
            (false, None) => TaskState::Stuck,
        };
        let mut tasks = seated(&desk.snapshot.cluster, &job.allocation, state);
        let gone = job.given_up().len();
        if state == TaskState::Running {
            tasks.iter_mut().rev().take(gone).for_each(|task| task.state = TaskState::Leaving);
        }
        let least = least_of(job, tasks.len());
        let Some(queue) = queue.or_else(|| desk.snapshot.policy.queues.first()) else { return };
        let known = Job {
            is_preemptible: job.preemptible && state != TaskState::Stuck,
            priority: priority(&desk.snapshot.policy, job.qos.as_ref(), job.nice),
            runs_for: Some(desk.now.since(job.started_at)),
            unsaved_since: Some(unsaved_since(&desk.snapshot.policy, job)),
            may_move: super::movers::may_move(desk, job),
            stays: job.leaving > 0,
            ..self.plain(job.key, queue, job.submitted_at.0, least)
        };
        let at = self.push(known, tasks);
        self.world.sees(at, state == TaskState::Running && job.may_be_asked());
        self.running.insert(at, job.key);
    }

    /// Adds a job that starts in this round before the plan is made.
    pub(super) fn starts(
        &mut self,
        desk: &RoundState<'a>,
        job: &WaitingJob,
        allocation: &Allocation,
    ) {
        let Some(queue) = desk.queues.get(&job.queue) else { return };
        let tasks = seated(&desk.snapshot.cluster, allocation, TaskState::Running);
        let is_preemptible = may_be_preempted(desk, job, queue);
        let plain = self.plain(job.key, queue, job.since().0, tasks.len());
        self.push(Job { is_preemptible, stays: true, ..plain }, tasks);
    }
}

/// The number of tasks that a running job needs, of those on known nodes. If some of its nodes are
/// unknown it needs all of them, except those that it is giving up.
pub(super) fn least_of(job: &RunningJob, tasks: usize) -> usize {
    let is_known = tasks == job.allocation.shares().len();
    let least = job.nodes_min.filter(|_| is_known).map(|least| least.0 as usize);
    least.unwrap_or_else(|| tasks.saturating_sub(job.given_up().len()))
}

fn seated(floor: &ClusterIndex, allocation: &Allocation, state: TaskState) -> Vec<Task> {
    let tasks = allocation.shares().iter().filter_map(|share| task_of(floor, share));
    tasks.map(|task| Task { state, ..task }).collect()
}

/// What a job holds on one node, as a task. `None`: the node is not known.
pub(super) fn task_of(floor: &ClusterIndex, share: &Share) -> Option<Task> {
    let at = floor.find(&share.node)?;
    let class = &floor.node(at).class;
    let devices: Vec<usize> = share.gpus.iter().filter_map(|gpu| class.position(*gpu)).collect();
    let count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
    let gpus = match share.gpu_milli {
        _ if devices.is_empty() => GpuAsk::None,
        Some(milli) => GpuAsk::Part { milli: i64::from(milli.0), devices: count },
        None => GpuAsk::Whole(count),
    };
    Some(Task {
        cpu_milli: i64::from(share.cpus.len()) * 1000,
        memory_bytes: amount(share.memory.0),
        gpus,
        node: Some(NodeAt(at.at())),
        devices: Some(devices),
        ..Task::default()
    })
}

/// Tie-break between equally ranked jobs: the later value is preempted first.
pub(super) fn unsaved_since(policy: &Policy, job: &RunningJob) -> i64 {
    let since = match policy.yields_first {
        YieldsFirst::SubmittedLast => {
            job.saved_at.map_or(job.submitted_at, |saved| saved.max(job.submitted_at))
        }
        YieldsFirst::LosesLeast => job.loses_since(),
    };
    amount(since.0)
}
