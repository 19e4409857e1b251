//! Applies a round's decisions to a snapshot as if the state and the nodes carried them out at
//! once. The decisions are not checked.

use super::{Growing, Snapshot};
use crate::model::job::{RunningJob, WaitingJob, nodes_min};
use common::id::{Attempt, JobKey};
use common::resource::Allocation;
use common::time::Time;
use common::unit::Nodes;
use std::sync::Arc;

impl Snapshot {
    /// Starts a waiting job with this allocation at once.
    pub fn start(&mut self, key: JobKey, allocation: Allocation, now: Time) {
        let Some(job) = self.wait_queue.get(key).cloned() else { return };
        let queue = self.policy.queues.iter().find(|queue| queue.name == job.queue);
        let qos = job.qos.as_ref();
        let qos = self.policy.qos.iter().find(|known| Some(&known.name) == qos);
        let preemption = queue.map(|queue| queue.preemption).unwrap_or_default();
        let says = job.preemptible.or_else(|| qos.and_then(|qos| qos.preemptible));
        let by_limit = job.time_limit.map(|limit| now + limit);
        let group = job.request.group();
        let tasks = allocation.tasks();
        self.set_running(RunningJob {
            key,
            attempt: job.attempt,
            nodes_min: nodes_min(&job.request, allocation.shares()),
            leaving: 0,
            allocation: Arc::new(allocation),
            ends_by: by_limit.into_iter().chain(job.deadline).min(),
            owner: job.owner,
            queue: job.queue.clone(),
            account: job.account.clone(),
            qos: job.qos.clone(),
            nice: job.nice,
            submitted_at: job.submitted_at,
            started_at: now,
            saved_at: None,
            whole_nodes: job.request.exclusive,
            group,
            preemptible: says.unwrap_or(preemption.preemptible),
            victim_mode: preemption.victims,
            ending: false,
            yields_to: None,
        });
        let growing = Growing::of(&job).filter(|growing| growing.has_room(tasks));
        self.set_growing(key, growing.map(Arc::new));
        if !self.policy.may_move() {
            return;
        }
        let attempt = Attempt(job.attempt.0.saturating_add(1));
        let again = WaitingJob { attempt, ..WaitingJob::clone(&job) };
        self.set_movable(key, Some(Arc::new(again)));
    }

    /// Shrinks a running job to its first `keeps` nodes at once.
    pub fn shrink(&mut self, key: JobKey, keeps: Nodes) {
        let Some(job) = self.running.get(&key) else { return };
        let shares = job.allocation.shares();
        let stays = shares.get(..keeps.0 as usize).unwrap_or(shares).to_vec();
        let Ok(stays) = Allocation::new(stays) else { return };
        let nodes_min = job.nodes_min.filter(|least| least.0 < keeps.0);
        let (allocation, movable) = (Arc::new(stays), self.movable.get(&key).cloned());
        let (leaving, yields_to) = (0, None);
        let job = RunningJob::clone(job);
        let left = shares.get(keeps.0 as usize..).unwrap_or_default().iter();
        let growing = self.growing.get(&key).map(|growing| {
            let had = growing.had.iter().chain(left.map(|share| &share.node)).cloned().collect();
            Arc::new(Growing { had, ..Growing::clone(growing) })
        });
        let smaller = RunningJob { allocation, nodes_min, leaving, yields_to, ..job };
        self.set_running(smaller);
        self.set_movable(key, movable);
        self.set_growing(key, growing);
    }
}
