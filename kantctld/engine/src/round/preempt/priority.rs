//! Preemption by priority: a job stops preemptible jobs of lower priority in its queue.
//!
//! Source: man slurm.conf, PreemptType=preempt/qos and PreemptMode; Kueue, "Preemption",
//! withinClusterQueue: LowerPriority.
//! Reads: priority of QoS, then nice; which jobs are preemptible. Never: submission time, age, size
//! or fair share: a priority that changes with time could let two jobs preempt each other in turn.
//! Knobs: `preemption.by_priority` and `preemption.preemptible` of a queue, `preemptible` of a QoS,
//! `--preemptible` and `--no-preemptible` of a job.
//!
//! Example. Nodes a and b have 8 GPUs each; queue q preempts by priority. Job 1 of QoS low has run
//! on a since minute 10, job 2 of QoS low on b since minute 20, both preemptible. At minute 30 job
//! 3 of QoS high asks for 8 GPUs: job 2 is stopped, which loses 10 minutes of 8 GPUs and not 20. If
//! job 3 had QoS low, it would wait.

use super::Asker;
use crate::model::job::RunningJob;
use crate::model::victim_index::PriorityKey;

/// Whether the waiting job may preempt this one.
pub(super) fn may_preempt(asker: &Asker<'_>, job: &RunningJob, priority_key: PriorityKey) -> bool {
    asker.queue.preemption.by_priority
        && job.preemptible
        && job.queue == asker.job.queue
        && priority_key > asker.priority_key
}

#[cfg(test)]
mod tests {
    use crate::model::job::WaitingJob;
    use crate::round::preempt::tests::{World, high, low, queue};
    use crate::testing::gpu_node;
    use common::policy::VictimMode;

    /// Jobs 1 and 2 of the example run.
    fn world(change: impl FnOnce(&mut common::policy::queue::Queue)) -> World {
        let mut q = queue("q");
        change(&mut q);
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![q]);
        world.at(10).submit(low(1, 8));
        assert_eq!(world.round(), ["1 on a"]);
        world.at(20).submit(low(2, 8));
        assert_eq!(world.round(), ["2 on b"]);
        world.at(30);
        world
    }

    #[test]
    fn the_example() {
        let mut other = world(|_| {});
        assert_eq!(other.submit(high(3, 8)).round(), ["2 for 3"]);
        assert_eq!(other.reason(3), "job 2 is making room for it");
        let mut other = world(|_| {});
        assert_eq!(other.submit(low(3, 8)).round(), [""; 0]);
    }

    #[test]
    fn no_job_is_preempted_that_is_not_preemptible_or_of_another_queue_or_where_no_queue_says_so() {
        let mut kept = world(|queue| queue.preemption.preemptible = false);
        assert_eq!(kept.submit(high(3, 8)).round(), [""; 0]);
        let mut off = world(|queue| queue.preemption.by_priority = false);
        assert_eq!(off.submit(high(3, 8)).round(), [""; 0]);
        let nodes = vec![gpu_node("a", 8)];
        let mut apart = World::new(nodes, vec![queue("q"), queue("y")]);
        apart.submit(crate::round::preempt::tests::of(
            1,
            crate::testing::gpu_request(8),
            "y",
            "low",
        ));
        apart.round();
        assert_eq!(apart.at(5).submit(high(3, 8)).round(), [""; 0]);
    }

    #[test]
    fn nice_breaks_equal_qos_and_the_lowest_yields_first() {
        let mut world = world(|queue| queue.preemption.victims = VictimMode::Cancel);
        world.submit(WaitingJob { nice: -1, ..low(3, 8) });
        assert_eq!(world.round(), ["2 for 3"]);
        let modes = world.round.decisions.iter().map(|decision| match decision {
            crate::Decision::Preempt { mode, .. } => Some(*mode),
            _ => None,
        });
        assert_eq!(modes.collect::<Vec<_>>(), [Some(VictimMode::Cancel)]);
        world.at(40).over(2);
        assert_eq!(world.round(), ["3 on b"]);
        world.at(50).submit(high(4, 8));
        assert_eq!(world.round(), ["1 for 4"], "job 3 has lost less, and goes before job 1");
    }
}
