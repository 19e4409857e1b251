//! Warnings about settings that fair sharing ignores. They are no errors, because fair sharing can
//! be switched on and off for the same queues.

use crate::policy::queue::Queue;
use crate::policy::{Amounts, Backfill, Behind, Policy};

/// Settings without effect under fair sharing, and queues with jobs that are never reclaimed.
pub(super) fn ignored_settings(policy: &Policy) -> Vec<String> {
    if !policy.fair_sharing {
        let warnings = "moves: without fair_sharing no jobs are moved".to_owned();
        return if policy.moves.is_off() { Vec::new() } else { vec![warnings] };
    }
    policy.queues.iter().flat_map(|queue| queue_warnings(policy, queue)).collect()
}

fn queue_warnings(policy: &Policy, queue: &Queue) -> Vec<String> {
    let (own, usual) = (&queue.backfill, Backfill::default());
    let settings = [
        ("behind = \"wait\"", queue.behind == Behind::Wait),
        ("backfill_depth", own.depth != usual.depth),
        ("backfill_reservation", own.reservation != usual.reservation),
        ("backfill_candidates", own.candidates != usual.candidates),
        ("backfill_run_times", own.run_times != usual.run_times),
        ("head_timeout", own.head_timeout.is_some()),
    ];
    let ignored: Vec<&str> =
        settings.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    let mut warnings = Vec::new();
    if !ignored.is_empty() {
        warnings.push(format!(
            "queue {}: with fair_sharing {} has no effect: jobs that have room start in the order \
             of shares",
            queue.name,
            ignored.join(", ")
        ));
    }
    let names_gpus = |amounts: &Amounts| amounts.gpus_any.is_some() || !amounts.gpus.is_empty();
    let is_leaf = !policy.queues.iter().any(|other| other.parent.as_ref() == Some(&queue.name));
    let mut path = std::iter::successors(Some(queue), |queue| {
        let parent = queue.parent.as_ref()?;
        policy.queues.iter().find(|other| other.name == *parent)
    });
    // The limit ends the walk in a cycle, which is reported elsewhere.
    let is_bound =
        path.by_ref().take(policy.queues.len()).any(|queue| names_gpus(&queue.quota.amounts));
    if is_leaf && !queue.preemption.preemptible && !is_bound {
        warnings.push(format!(
            "queue {}: with fair_sharing its jobs keep all GPUs that they get: set \
             preemptible = true, or a quota of GPUs for the queue or one above it",
            queue.name
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::QueueName;
    use crate::time::Span;
    use crate::unit::Gpus;

    fn policy(change: impl Fn(&mut Queue)) -> Policy {
        let mut queue = Queue::with_defaults(QueueName::new("lab").unwrap());
        queue.preemption.preemptible = true;
        change(&mut queue);
        Policy { queues: vec![queue], fair_sharing: true, ..Policy::default() }
    }

    #[test]
    fn a_setting_without_effect_is_named() {
        assert_eq!(ignored_settings(&policy(|_| ())), Vec::<String>::new());
        let set = |queue: &mut Queue| {
            queue.behind = Behind::Wait;
            queue.backfill.head_timeout = Some(Span::from_seconds(60));
        };
        let warnings = ignored_settings(&policy(set));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("behind = \"wait\", head_timeout has no effect"),
            "{warnings:?}"
        );
        let without = Policy { fair_sharing: false, ..policy(set) };
        assert_eq!(ignored_settings(&without), Vec::<String>::new());
    }

    #[test]
    fn a_queue_with_jobs_that_are_never_reclaimed_is_named() {
        let warnings = ignored_settings(&policy(|queue| queue.preemption.preemptible = false));
        assert!(
            warnings[0].contains("queue lab: with fair_sharing its jobs keep all"),
            "{warnings:?}"
        );
        let bound = policy(|queue| {
            queue.preemption.preemptible = false;
            queue.quota.amounts.gpus_any = Some(Gpus(4));
        });
        assert_eq!(ignored_settings(&bound), Vec::<String>::new());
    }
}
