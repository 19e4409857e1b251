//! Unplanned events: nodes go down, jobs are cancelled or fail to launch, operators book nodes and
//! change the policy. Jobs are ended in `world`.

use super::world::World;
use super::{cluster, policies};
use common::id::{Attempt, JobKey, NodeName, ReservationName, Uid};
use common::policy::{Access, Moves, Policy};
use common::reservation::Reservation;
use common::time::Span;
use engine::QueueUse;
use engine::order::fair_share::Bucket;
use engine::{RunningJob, Unusable, WaitingJob};
use std::sync::Arc;

impl World {
    /// One unplanned event.
    pub fn surprise(&mut self) {
        match self.draw.below(12) {
            0 | 1 => {
                let at = self.draw.below(u32::try_from(self.nodes.len()).unwrap()) as usize;
                let state =
                    self.draw.one(&[None, None, Some(Unusable::Drained), Some(Unusable::Down)]);
                self.nodes[at].unusable = state;
                self.snapshot.set_node(&self.nodes[at]);
                if state == Some(Unusable::Down) {
                    self.lose(&self.nodes[at].name.clone());
                }
            }
            2 => self.free_held(),
            3 => {
                let keys: Vec<JobKey> = self.snapshot.all_waiting().map(|job| job.key).collect();
                if !keys.is_empty() {
                    let key = self.draw.one(&keys);
                    self.snapshot.remove_job(key);
                }
            }
            4 | 5 if self.bookings.len() < 2 => self.book(),
            6 => {
                let (topology, nodes) = (self.policy.topology.clone(), self.nodes.len());
                let nodes = u32::try_from(nodes).unwrap();
                let new = policies::policy(&mut self.draw, topology, nodes);
                if new.queues.len() >= self.policy.queues.len() {
                    self.set_policy(new);
                }
            }
            7 => {
                // A job fails to launch.
                let keys: Vec<JobKey> = self.real.keys().copied().collect();
                if !keys.is_empty() {
                    self.fail_to_launch(keys);
                }
            }
            8 if self.nodes.len() < 8 => {
                let number = u32::try_from(self.nodes.len()).unwrap();
                let node = cluster::node(&mut self.draw, number);
                let node = if self.is_cut { cluster::cut(node) } else { node };
                self.snapshot.set_node(&node);
                self.nodes.push(node);
            }
            _ => {}
        }
    }

    /// Some of the running jobs save a checkpoint.
    pub fn save(&mut self) {
        let Some(mut draw) = self.saver.clone() else { return };
        let saved = self.snapshot.all_running().filter(|_| draw.once_in(4));
        let saved: Vec<Arc<RunningJob>> = saved.filter(|job| !job.ending).cloned().collect();
        for job in saved {
            let growing = self.snapshot.growing(job.key).cloned();
            let saved_at = Some(self.now);
            self.set_again(RunningJob { saved_at, ..RunningJob::clone(&job) });
            self.snapshot.set_growing(job.key, growing);
            self.saves += 1;
        }
        self.saver = Some(draw);
    }

    fn fail_to_launch(&mut self, keys: Vec<JobKey>) {
        let key = self.draw.one(&keys);
        let Some(real) = self.real.remove(&key) else { return };
        let attempt = self.snapshot.running_job(key).map_or(Attempt(1), |job| job.attempt);
        let not_before = Some(self.now + Span::from_seconds(30));
        self.snapshot.set_waiting(WaitingJob {
            attempt: Attempt(attempt.0 + 1),
            not_before,
            ..real.job
        });
    }

    /// The jobs of a lost node wait again.
    fn lose(&mut self, node: &NodeName) {
        let there = |key: &&JobKey| {
            self.snapshot.running_job(**key).is_some_and(|job| job.allocation.on(node).is_some())
        };
        let lost: Vec<JobKey> = self.real.keys().filter(there).copied().collect();
        for key in lost {
            if let Some(real) = self.real.remove(&key) {
                let attempt = self.snapshot.running_job(key).map_or(Attempt(1), |job| job.attempt);
                let attempt = Attempt(attempt.0 + 1);
                self.snapshot.set_waiting(WaitingJob { attempt, ..real.job });
            }
        }
    }

    pub fn free_held(&mut self) {
        let held: Vec<WaitingJob> = self
            .snapshot
            .all_waiting()
            .filter(|job| job.held)
            .map(|job| WaitingJob { held: false, ..WaitingJob::clone(job) })
            .collect();
        held.into_iter().for_each(|job| self.snapshot.set_waiting(job));
    }

    /// Sets a policy. If the history uses fair sharing, the policy does too, with the history's
    /// weights.
    pub fn set_policy(&mut self, mut policy: Policy) {
        if let Some(seed) = self.fair {
            policy.fair_sharing = true;
            policy.moves =
                Moves { per_hour: if seed % 4 == 1 { 3 } else { 0 }, lost_gpu_minutes_max: 200 };
            policy.factors.past_use_percent = [0, 50, 200][seed as usize % 3];
            let mut past = Vec::new();
            for (number, queue) in (0..).zip(&mut policy.queues) {
                queue.weight = (number + seed) % 4;
                let gpu_ms = u64::from((number * 7 + seed) % 5) * 3_600_000;
                let hours = vec![Bucket { hour: self.now.0 / 3_600_000, gpu_ms }];
                past.push(QueueUse { queue: queue.name.clone(), hours });
            }
            self.snapshot.set_queue_use(past);
        }
        self.snapshot.set_policy(Arc::new(policy.clone()));
        self.policy = policy;
    }

    fn book(&mut self) {
        let from = self.now + Span::from_minutes(self.draw.one(&[0, 10, 40]));
        let nodes = self.nodes.iter().filter(|_| self.draw.once_in(2));
        let nodes = nodes.map(|node| node.name.clone()).collect();
        self.next_job += 1;
        self.bookings.push(Reservation {
            name: ReservationName::new(format!("r{}", self.next_job)).unwrap(),
            nodes,
            from,
            to: from + Span::from_minutes(self.draw.one(&[20, 60])),
            access: Access::default(),
            maintenance: false,
            by: Uid(0),
            comment: String::new(),
        });
        self.snapshot.set_reservations(self.bookings.clone());
    }

    /// Removes bookings that have ended.
    pub fn tidy(&mut self) {
        let before = self.bookings.len();
        self.bookings.retain(|booking| booking.to > self.now);
        if self.bookings.len() < before {
            self.snapshot.set_reservations(self.bookings.clone());
        }
    }

    /// Brings all nodes up.
    pub fn mend(&mut self) {
        for node in &mut self.nodes {
            if node.unusable.take().is_some() {
                self.snapshot.set_node(node);
            }
        }
    }
}
