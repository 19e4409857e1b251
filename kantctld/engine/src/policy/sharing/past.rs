//! The past use of queues relative to past capacity, where older use counts less. It lowers only a
//! queue's part of the surplus, never its guaranteed part ([`crate::model::shares::divide`]).
//!
//! Source: KAI Scheduler, time-based fair share: sum of allocated x 0.5^(age / half-life), over the
//! same sum of capacity. Ours is counted by the hour, for GPUs, and against the cluster's present
//! capacity, since the first hour that is known (at most 14 days).
//! Reads: GPU time by queue and hour; the cluster's GPUs. Never: running jobs, which are part of
//! the current hour's use. Knobs: `past_use_percent`, `half_life_hours`.
//!
//! Example, two nodes of 8 GPUs, half-life an hour. Job 1 of queue a held 16 GPUs for the first
//! hour, job 2 of b 8 for the second; then job 3 of c is submitted. Used are 8 of 24 GPU-hours by a
//! (16, decayed by half) and 8 by b: a third each.

use crate::model::snapshot::Snapshot;
use common::time::Time;

const HOUR_MS: u64 = 3_600_000;

/// The whole, in millionths.
const ALL: f64 = 1e6;

/// The past use of each queue of the policy with its descendants, in millionths of the capacity.
/// Top-level queues together use at most all of it. Empty where past use does not count.
pub(crate) fn used_ppm(snapshot: &Snapshot, now: Time) -> Vec<u64> {
    let policy = &snapshot.policy;
    if !policy.fair_sharing || policy.factors.past_use_percent == 0 {
        return Vec::new();
    }
    let queues = &policy.queues;
    let known = || snapshot.queue_use.iter().flat_map(|used| &used.hours);
    let hour_now = now.0 / HOUR_MS;
    let first = known().map(|bucket| bucket.hour).min().unwrap_or(hour_now).min(hour_now);
    let half_life = f64::from(policy.factors.half_life_hours.max(1));
    let weight = |hour: u64| (-(hour_now.saturating_sub(hour) as f64) / half_life).exp2();
    let length = |hour: u64| if hour == hour_now { now.0 % HOUR_MS } else { HOUR_MS };
    let gpus = snapshot.capacity.gpus_any.map_or(0.0, |gpus| f64::from(gpus.0));
    let there: f64 = (first..=hour_now).map(|hour| length(hour) as f64 * weight(hour)).sum();
    let faded: f64 = known().map(|bucket| bucket.gpu_ms as f64 * weight(bucket.hour)).sum();
    // The cluster may have had more nodes than now.
    let all = (there * gpus).max(faded);
    let tree = &snapshot.queues;
    let mut sums = vec![0.0; queues.len()];
    for used in &snapshot.queue_use {
        let Some(at) = tree.find(used.queue.as_str()) else { continue };
        let own = used.hours.iter().map(|bucket| bucket.gpu_ms as f64 * weight(bucket.hour));
        let own: f64 = own.sum();
        tree.path(at).iter().for_each(|at| sums[at.0] += own);
    }
    let part = |sum: f64| if all > 0.0 { (sum / all * ALL).floor() as u64 } else { 0 };
    sums.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::past_usage::{Bucket, QueueUse};
    use crate::round::preempt::tests::{World, of, queue};
    use crate::testing::{change_policy, gpu_node, gpu_request};
    use common::id::QueueName;

    fn world(percent: u32) -> World {
        let queues = vec![queue("a"), queue("b"), queue("c")];
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], queues);
        change_policy(&mut world.snapshot, |policy| {
            policy.fair_sharing = true;
            policy.factors.half_life_hours = 1;
            policy.factors.past_use_percent = percent;
        });
        world
    }

    fn used(queue: &str, hour: u64, gpu_hours: u64) -> QueueUse {
        let hours = vec![Bucket { hour, gpu_ms: gpu_hours * HOUR_MS }];
        QueueUse { queue: QueueName::new(queue).unwrap(), hours }
    }

    #[test]
    fn the_example() {
        let mut world = world(100);
        world.snapshot.set_queue_use(vec![used("a", 9, 16), used("b", 10, 8)]);
        world.snapshot.prepare_for_round(world.minute(0));
        // The end of the second hour.
        let now = Time(11 * HOUR_MS - 1);
        assert_eq!(used_ppm(&world.snapshot, now), [333_333, 333_333, 0]);
    }

    #[test]
    fn no_queue_has_used_more_than_all_and_without_the_knob_nothing_counts() {
        let mut world = world(100);
        world.snapshot.set_queue_use(vec![used("a", 9, 1600), used("b", 9, 1600)]);
        world.snapshot.prepare_for_round(world.minute(0));
        assert_eq!(used_ppm(&world.snapshot, Time(10 * HOUR_MS)), [500_000, 500_000, 0]);
        change_policy(&mut world.snapshot, |policy| policy.factors.past_use_percent = 0);
        assert!(used_ppm(&world.snapshot, Time(10 * HOUR_MS)).is_empty());
    }

    /// Queue a used everything since the last hour; jobs of a and b each ask for the whole cluster.
    #[test]
    fn who_used_much_is_due_less_of_the_rest() {
        for (percent, due) in [(0, [8_000, 8_000]), (100, [0, 16_000]), (20, [6_000, 10_000])] {
            let mut world = world(percent);
            let mut past = used("a", 9, 16);
            past.hours.push(Bucket { hour: 10, gpu_ms: 16 * 60_000 });
            world.snapshot.set_queue_use(vec![past]);
            for job in [1, 2] {
                world.submit(of(job, gpu_request(8), "a", "low"));
                assert_eq!(world.round().len(), 1);
            }
            world.at(1).submit(of(3, gpu_request(8), "b", "low"));
            world.submit(of(4, gpu_request(8), "b", "low"));
            // The clock starts at the tenth hour.
            let all = crate::explain::standings::standings(&world.snapshot, world.minute(1));
            let shares: Vec<_> = all.iter().filter_map(|view| view.of[0].share).collect();
            assert_eq!(shares, [due[0], due[1], 0], "{percent}");
            assert_eq!(all[0].of[0].used_ppm.is_some(), percent > 0);
            let yielded = world.round().len();
            assert_eq!(yielded, if percent == 100 { 2 } else { 1 }, "{percent}");
        }
    }
}
