//! The order by a sum of weighted factors: age, size, queue, QoS and fair share, less nice.
//!
//! Source: Slurm, "Multifactor Priority Plugin": Job_priority is the sum of weight x factor, less
//! nice; man sprio shows the parts.
//! Reads: since when the job waits, what it asks for, priorities of queue and QoS, usage of its
//! account and user. Not what is free.
//! Knobs: the weights ([`Factors`]); `priority` of queues and QoS; `--nice`; `shares` of accounts.
//!
//! Factors lie between 0 and 1 and are computed in f64. Each weight x factor is rounded to an
//! integer, half away from zero, and only integers are added and compared. Powers of two may differ
//! in the last bit between C libraries; points then differ only where a product is exactly half.
//!
//! - age: time waited, relative to `age_max_seconds`, at most 1.
//! - size: GPUs asked for, relative to those of the cluster; CPUs if the cluster has no GPUs.
//!   `favor_small` inverts it.
//! - queue, QoS: the priority relative to the highest of any; 0 if it is below zero, or without a
//!   QoS.
//! - fair share: [`super::fair_share`].
//!
//! Example, two nodes of 8 GPUs; weights age 1000 over 100 hours, size 100, QoS 500. Job 1 waits
//! for 10 hours and asks for 8 GPUs: 100 + 50. Job 2 waits for an hour and asks for 4, with the
//! highest QoS: 10 + 25 + 500. Job 3 waits for 20 hours and asks for 2, with `--nice=100`:
//! 200 + 13 - 100. The order is 2, 1, 3.

use super::fair_share::FairShare;
use super::{Facts, Rank};
use common::policy::{Amounts, Factors, Policy};
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// One factor's part of a priority.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Factor {
    /// 0 to 1.
    pub factor: f64,
    pub weight: u32,
    /// `weight * factor`, rounded.
    pub points: i64,
}

/// The factors of a job's priority.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PriorityBreakdown {
    /// For the time waited.
    pub age: Factor,
    /// For what it asks for.
    pub size: Factor,
    pub queue: Factor,
    pub qos: Factor,
    /// For past use below the fair share.
    pub fair_share: Factor,
    pub nice: i32,
    /// The priority: the points of all factors, less nice. Higher goes first.
    pub points: i64,
}

impl PriorityBreakdown {
    /// The factors with their names in the configuration and in `kantctl priority`.
    #[must_use]
    pub const fn factors_by_name(&self) -> [(&'static str, Factor); 5] {
        [
            ("age", self.age),
            ("size", self.size),
            ("queue", self.queue),
            ("qos", self.qos),
            ("fair-share", self.fair_share),
        ]
    }
}

/// Computes priorities, for one policy and one hour's fair shares.
#[derive(Debug, Clone, Copy)]
pub struct Multifactor<'a> {
    factors: Factors,
    fair: &'a FairShare,
    queue_highest: i32,
    qos_highest: i32,
    gpu_milli: u64,
    cpus: u64,
}

impl<'a> Multifactor<'a> {
    /// For this policy, on a cluster of this capacity.
    #[must_use]
    pub fn new(policy: &Policy, fair: &'a FairShare, capacity: &Amounts) -> Self {
        let gpus: u64 = capacity.gpus.values().map(|gpus| u64::from(gpus.0)).sum();
        Self {
            factors: policy.factors,
            fair,
            queue_highest: policy.queues.iter().map(|q| q.priority).max().unwrap_or(0),
            qos_highest: policy.qos.iter().map(|q| q.priority).max().unwrap_or(0),
            gpu_milli: capacity.gpus_any.map_or(gpus, |gpus| u64::from(gpus.0)) * 1000,
            cpus: capacity.cpus.map_or(0, |cpus| u64::from(cpus.0)),
        }
    }

    /// The factors of the job's priority at this time.
    #[must_use]
    pub fn breakdown(&self, job: &Facts<'_>, now: Time) -> PriorityBreakdown {
        let weights = &self.factors;
        let qos = job.qos.map_or(0, |qos| qos.priority);
        let fair = self.fair.factor(job.account, job.owner);
        let breakdown = PriorityBreakdown {
            age: weigh(weights.age, self.age(job, now)),
            size: weigh(weights.size, self.size(job)),
            queue: weigh(weights.queue, priority_fraction(job.queue.priority, self.queue_highest)),
            qos: weigh(weights.qos, priority_fraction(qos, self.qos_highest)),
            fair_share: weigh(weights.fair_share, fair),
            nice: job.nice,
            points: 0,
        };
        let points: i64 = breakdown.factors_by_name().iter().map(|(_, factor)| factor.points).sum();
        PriorityBreakdown { points: points - i64::from(job.nice), ..breakdown }
    }

    /// The job's rank at this time. [`super::rank`] explains how it compares with jobs of FIFO
    /// queues.
    #[must_use]
    pub fn rank(&self, job: &Facts<'_>, now: Time) -> Rank {
        let breakdown = self.breakdown(job, now);
        let earned = i128::from(breakdown.points - breakdown.queue.points);
        let max_ms = i128::from(self.factors.age_max_seconds) * 1000;
        let turn_ms = match i128::from(self.factors.age) {
            0 => i128::from(now.0) - earned * 1000,
            age => i128::from(now.0) - earned * max_ms / age,
        };
        Rank {
            queue: Reverse(job.queue.priority),
            qos: Reverse(0),
            nice: 0,
            turn_ms,
            points: Reverse(breakdown.points),
            since: job.since,
            key: job.key,
        }
    }

    fn age(&self, job: &Facts<'_>, now: Time) -> f64 {
        let max_ms = self.factors.age_max_seconds.saturating_mul(1000);
        capped_fraction(now.since(job.since).0, max_ms)
    }

    fn size(&self, job: &Facts<'_>) -> f64 {
        let size = match self.gpu_milli {
            0 => capped_fraction(u64::from(job.cpus.0), self.cpus.max(1)),
            all => capped_fraction(u64::from(job.gpus.0), all),
        };
        if self.factors.favor_small { 1.0 - size } else { size }
    }
}

fn priority_fraction(priority: i32, highest: i32) -> f64 {
    capped_fraction(priority.max(0).unsigned_abs().into(), highest.max(1).unsigned_abs().into())
}

/// The fraction, at most 1. It is 1 if `of` is 0.
fn capped_fraction(amount: u64, of: u64) -> f64 {
    if amount >= of { 1.0 } else { amount as f64 / of as f64 }
}

fn weigh(weight: u32, factor: f64) -> Factor {
    Factor { factor, weight, points: (f64::from(weight) * factor).round() as i64 }
}

#[cfg(test)]
pub(crate) mod tests;
