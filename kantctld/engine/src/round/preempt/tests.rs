//! Tests of preemption on small clusters.

mod histories;
mod room;
mod saved;
mod shrink;

use crate::model::job::{RunningJob, WaitingJob};
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::snapshot::Snapshot;
use crate::testing::{change_policy, gpu_request, key, with_queues};
use crate::{Decision, Round, schedule};
use common::id::{Attempt, JobKey, NodeName, QosName, QueueName};
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Amounts, Quota, QuotaMode};
use common::resource::Request;
use common::time::{Span, Time};
use common::unit::{Gpus, Nodes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A cluster over time. Stopped jobs wait again.
pub(crate) struct World {
    pub snapshot: Snapshot,
    pub now: Time,
    start: Time,
    asked: BTreeMap<JobKey, WaitingJob>,
    /// Nodes that jobs gave up.
    had: BTreeMap<JobKey, BTreeSet<NodeName>>,
    pub round: Round,
}

fn qos(name: &str, priority: i32) -> Qos {
    let name = QosName::new(name).unwrap();
    serde_json::from_value(serde_json::json!({ "name": name, "priority": priority })).unwrap()
}

/// A queue that preempts by priority, of preemptible jobs.
pub(crate) fn queue(name: &str) -> Queue {
    let mut queue = Queue { default: name == "q", ..crate::testing::queue(name) };
    queue.preemption.by_priority = true;
    queue.preemption.preemptible = true;
    queue
}

/// A queue with a quota of GPUs of any kind; its jobs are not preemptible.
pub(crate) fn owed(name: &str, gpus: u32) -> Queue {
    let amounts = Amounts { gpus_any: Some(Gpus(gpus)), ..Amounts::default() };
    Queue { quota: Quota { amounts, ..Quota::default() }, ..crate::testing::queue(name) }
}

/// A queue that neither lends nor borrows, and preempts by priority.
pub(crate) fn isolated(name: &str, gpus: u32) -> Queue {
    let mut queue = Queue { quota: owed(name, gpus).quota, ..queue(name) };
    queue.quota.mode = QuotaMode::Isolated;
    queue
}

/// A job of queue `q` and QoS low that asks for GPUs on one node, for two hours.
pub(crate) fn low(job: u32, gpus: u32) -> WaitingJob {
    of(job, gpu_request(gpus), "q", "low")
}

pub(crate) fn high(job: u32, gpus: u32) -> WaitingJob {
    of(job, gpu_request(gpus), "q", "high")
}

pub(crate) fn of(job: u32, request: Request, queue: &str, qos: &str) -> WaitingJob {
    let queue = QueueName::new(queue).unwrap();
    let qos = Some(QosName::new(qos).unwrap());
    WaitingJob { queue, qos, ..crate::testing::waiting(job, request, 120) }
}

impl World {
    pub fn new(nodes: Vec<NodeSnapshot>, queues: Vec<Queue>) -> Self {
        let mut snapshot = with_queues(nodes, queues);
        change_policy(&mut snapshot, |policy| policy.qos = vec![qos("high", 10), qos("low", 0)]);
        let start = Time(36_000_000);
        let (asked, had, round) = (BTreeMap::new(), BTreeMap::new(), Round::default());
        Self { snapshot, now: start, start, asked, had, round }
    }

    /// Sets the time, in minutes.
    pub fn at(&mut self, minute: u64) -> &mut Self {
        self.now = self.start + Span::from_minutes(minute);
        self
    }

    pub fn minute(&self, minute: u64) -> Time {
        self.start + Span::from_minutes(minute)
    }

    /// Submits a job now.
    pub fn submit(&mut self, job: WaitingJob) -> &mut Self {
        let job = WaitingJob { submitted_at: self.now, ..job };
        self.asked.insert(job.key, job.clone());
        self.snapshot.set_waiting(job);
        self
    }

    /// Runs a round and enacts it: `3 on b` is a start, `2 for 3` a preemption.
    pub fn round(&mut self) -> Vec<String> {
        self.snapshot.prepare_for_round(self.now);
        self.round = schedule(&self.snapshot, self.now);
        self.snapshot.set_planned_starts(self.round.planned_starts.clone());
        let mut decided = Vec::new();
        for decision in self.round.decisions.clone() {
            match decision {
                Decision::Start { key, allocation, .. } => {
                    let nodes = allocation.shares().iter().map(|share| share.node.to_string());
                    decided.push(format!("{key} on {}", nodes.collect::<Vec<_>>().join(" ")));
                    self.snapshot.start(key, allocation, self.now);
                }
                Decision::Preempt { key, by, to, .. } if to.is_empty() => {
                    decided.push(format!("{key} for {by}"));
                    self.change(key, |job| (job.ending, job.yields_to) = (true, Some(by)));
                }
                Decision::Shrink { key, keeps, by, .. } => {
                    decided.push(format!("{key} keeps {keeps} for {by}"));
                    self.change(key, |job| {
                        let all = u32::try_from(job.allocation.shares().len()).unwrap();
                        (job.leaving, job.yields_to) = (all - keeps.0, Some(by));
                    });
                }
                Decision::Grow { key, shares, .. } => {
                    let nodes = shares.iter().map(|share| share.node.to_string());
                    decided.push(format!("{key} grows to {}", nodes.collect::<Vec<_>>().join(" ")));
                    self.snapshot.grow(key, &shares);
                }
                Decision::Preempt { key, by, to, .. } => {
                    let names: Vec<String> = to.iter().map(ToString::to_string).collect();
                    decided.push(format!("{key} for {by} to {}", names.join(" ")));
                    let again = self.snapshot.movable.get(&key).cloned();
                    self.change(key, |job| (job.ending, job.yields_to) = (true, Some(by)));
                    self.snapshot.set_movable(key, again);
                    let until = self.now + common::policy::MOVE_KEPT;
                    self.snapshot.set_moving(key, Some(common::job::Moving { to, until }));
                    let moves = self.snapshot.moves.iter().copied().chain([self.now]).collect();
                    self.snapshot.set_move_times(moves);
                }
            }
        }
        decided
    }

    /// Changes a running job.
    pub fn change(&mut self, key: JobKey, change: impl FnOnce(&mut RunningJob)) {
        let mut job = RunningJob::clone(self.snapshot.running_job(key).unwrap());
        change(&mut job);
        self.snapshot.set_running(job);
    }

    /// Changes a running job that may grow, and may go on growing.
    pub fn change_growing(&mut self, job: u32, change: impl FnOnce(&mut RunningJob)) {
        let growing = self.snapshot.growing(key(job)).cloned();
        self.change(key(job), change);
        self.snapshot.set_growing(key(job), growing);
    }

    /// A stopped job is gone, and waits again.
    pub fn gone(&mut self, job: u32) -> &mut Self {
        let asked = self.asked.get_mut(&key(job)).unwrap();
        asked.attempt = Attempt(asked.attempt.0 + 1);
        let again = asked.clone();
        self.snapshot.set_waiting(again);
        self
    }

    /// The nodes that a job gave up are free.
    pub fn shrunk(&mut self, job: u32) -> &mut Self {
        let running = self.snapshot.running_job(key(job)).unwrap();
        let stays = running.staying_shares().len();
        let left = running.given_up_shares().iter().map(|share| share.node.clone());
        let had = self.had.entry(key(job)).or_default();
        had.extend(left);
        let (asked, had) = (self.asked[&key(job)].clone(), had.clone());
        self.snapshot.shrink(key(job), Nodes(u32::try_from(stays).unwrap()));
        let growing =
            asked.request.grow.then(|| Arc::new(crate::Growing { asked, had, not_before: None }));
        self.snapshot.set_growing(key(job), growing);
        self
    }

    /// A job ends.
    pub fn over(&mut self, job: u32) -> &mut Self {
        self.snapshot.remove_job(key(job));
        self
    }

    /// Why a job waits.
    pub fn reason(&self, job: u32) -> String {
        self.round.waits.reason_of(&self.snapshot, key(job)).unwrap().to_string()
    }
}

pub(crate) fn on_nodes(nodes: u32, gpus: u32) -> Request {
    let nodes_asked = Some(common::unit::Nodes(nodes));
    Request { tasks: common::unit::Tasks(nodes), nodes: nodes_asked, ..gpu_request(gpus) }
}

pub(crate) fn with_request(job: WaitingJob, request: Request) -> WaitingJob {
    WaitingJob { request: Arc::new(request), ..job }
}
