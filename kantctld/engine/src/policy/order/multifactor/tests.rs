//! Multifactor priorities. The tests in `rank` cover the order across queues.

use super::*;
use common::id::{JobId, JobKey, QosName, QueueName, Uid};
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Access, Limits, Order};
use common::unit::{Cpus, GpuMilli, Gpus};

/// A multifactor queue `q` and the QoS `urgent` of priority 5.
pub(crate) fn policy() -> Policy {
    let queue =
        Queue { order: Order::Multifactor, ..Queue::with_defaults(QueueName::new("q").unwrap()) };
    let urgent = Qos {
        name: QosName::new("urgent").unwrap(),
        priority: 5,
        access: Access::default(),
        preemptible: None,
        time_limit_max: None,
        limits: Limits::default(),
        limits_per_user: Limits::default(),
    };
    Policy { queues: vec![queue], qos: vec![urgent], ..Policy::default() }
}

/// A job of one CPU that waits since second `job`.
pub(crate) fn facts(job: u32, queue: &Queue) -> Facts<'_> {
    Facts {
        key: JobKey::single(JobId(job)),
        queue,
        qos: None,
        account: None,
        owner: Uid(1000),
        nice: 0,
        since: Time(u64::from(job) * 1000),
        gpus: GpuMilli(0),
        cpus: Cpus(1),
    }
}

fn gpus(count: u32) -> Amounts {
    Amounts { gpus_any: Some(Gpus(count)), cpus: Some(Cpus(64)), ..Amounts::default() }
}

const fn hour(hours: u64) -> Time {
    Time(hours * 3_600_000)
}

#[test]
fn the_example() {
    let mut policy = policy();
    policy.factors = Factors {
        age: 1000,
        age_max_seconds: 100 * 3600,
        size: 100,
        qos: 500,
        fair_share: 0,
        ..Factors::default()
    };
    let fair = FairShare::default();
    let multifactor = Multifactor::new(&policy, &fair, &gpus(16));
    let job = |job, since, gpus: u32| Facts {
        since: hour(since),
        gpus: GpuMilli(gpus * 1000),
        ..facts(job, &policy.queues[0])
    };
    let now = hour(20);
    let jobs = [
        job(1, 10, 8),
        Facts { qos: Some(&policy.qos[0]), ..job(2, 19, 4) },
        Facts { nice: 100, ..job(3, 0, 2) },
    ];
    let points = jobs.map(|job| multifactor.breakdown(&job, now).points);
    assert_eq!(points, [150, 535, 113]);
    let breakdown = multifactor.breakdown(&jobs[2], now);
    assert_eq!((breakdown.age.points, breakdown.size.points, breakdown.nice), (200, 13, 100));
    let mut ranks = jobs.map(|job| multifactor.rank(&job, now));
    ranks.sort_unstable();
    assert_eq!(ranks.map(|rank| rank.key.job.0), [2, 1, 3]);
}

#[test]
fn age_ends_at_its_most_and_small_jobs_can_be_favoured() {
    let mut policy = policy();
    policy.factors = Factors { age: 10, size: 10, favor_small: true, ..policy.factors };
    let fair = FairShare::default();
    let multifactor = Multifactor::new(&policy, &fair, &gpus(10));
    let job = Facts { gpus: GpuMilli(2_500), ..facts(0, &policy.queues[0]) };
    let breakdown = multifactor.breakdown(&job, hour(24 * 365));
    assert_eq!((breakdown.age.factor, breakdown.age.points), (1.0, 10));
    assert_eq!((breakdown.size.factor, breakdown.size.points), (0.75, 8));
    let huge = Facts { gpus: GpuMilli(99_000), ..job };
    assert_eq!(multifactor.breakdown(&huge, hour(1)).size.points, 0);
}

#[test]
fn a_cluster_without_gpus_weighs_cpus() {
    let mut policy = policy();
    policy.factors.size = 1000;
    let fair = FairShare::default();
    let multifactor = Multifactor::new(&policy, &fair, &gpus(0));
    let job = Facts { cpus: Cpus(16), ..facts(1, &policy.queues[0]) };
    assert_eq!(multifactor.breakdown(&job, hour(1)).size.points, 250);
}

#[test]
fn priorities_below_zero_win_nothing() {
    let mut policy = policy();
    policy.queues[0].priority = -5;
    policy.qos[0].priority = -1;
    let fair = FairShare::default();
    let multifactor = Multifactor::new(&policy, &fair, &gpus(8));
    let job = Facts { qos: Some(&policy.qos[0]), ..facts(1, &policy.queues[0]) };
    let breakdown = multifactor.breakdown(&job, hour(1));
    assert_eq!((breakdown.queue.points, breakdown.qos.points), (0, 0));
}
