//! What a fair cluster makes of settings that are for others: nothing, and so it is told. Never an
//! error: the same queues may share fairly today and not tomorrow.

use crate::policy::queue::Queue;
use crate::policy::{Amounts, Backfill, Behind, Policy};

/// Settings that say nothing where queues share fairly, and queues whose jobs give nothing back.
pub(super) fn unheard(policy: &Policy) -> Vec<String> {
    if !policy.fair_sharing {
        let told = "moves: without fair_sharing nobody is moved".to_owned();
        return if policy.moves.is_off() { Vec::new() } else { vec![told] };
    }
    policy.queues.iter().flat_map(|queue| of(policy, queue)).collect()
}

fn of(policy: &Policy, queue: &Queue) -> Vec<String> {
    let (own, usual) = (&queue.backfill, Backfill::default());
    let settings = [
        ("behind = \"wait\"", queue.behind == Behind::Wait),
        ("backfill_depth", own.depth != usual.depth),
        ("backfill_reservation", own.reservation != usual.reservation),
        ("backfill_candidates", own.candidates != usual.candidates),
        ("head_timeout", own.head_timeout.is_some()),
    ];
    let unheard: Vec<&str> =
        settings.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    let mut told = Vec::new();
    if !unheard.is_empty() {
        told.push(format!(
            "queue {}: with fair_sharing {} says nothing: whoever has room starts, in the order of \
             shares",
            queue.name,
            unheard.join(", ")
        ));
    }
    let names_gpus = |amounts: &Amounts| amounts.gpus_any.is_some() || !amounts.gpus.is_empty();
    let is_leaf = !policy.queues.iter().any(|other| other.parent.as_ref() == Some(&queue.name));
    let mut path = std::iter::successors(Some(queue), |queue| {
        let parent = queue.parent.as_ref()?;
        policy.queues.iter().find(|other| other.name == *parent)
    });
    // As long as there are queues: a cycle is told of elsewhere.
    let is_bound =
        path.by_ref().take(policy.queues.len()).any(|queue| names_gpus(&queue.quota.amounts));
    if is_leaf && !queue.preemption.preemptible && !is_bound {
        told.push(format!(
            "queue {}: with fair_sharing its jobs keep all GPUs that they get, however many: set \
             preemptible = true, or a quota of GPUs that binds them",
            queue.name
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::QueueName;
    use crate::time::Span;
    use crate::unit::Gpus;

    fn policy(change: impl Fn(&mut Queue)) -> Policy {
        let mut queue = Queue::plain(QueueName::new("lab").unwrap());
        queue.preemption.preemptible = true;
        change(&mut queue);
        Policy { queues: vec![queue], fair_sharing: true, ..Policy::default() }
    }

    #[test]
    fn a_setting_that_says_nothing_is_named() {
        assert_eq!(unheard(&policy(|_| ())), Vec::<String>::new());
        let set = |queue: &mut Queue| {
            queue.behind = Behind::Wait;
            queue.backfill.head_timeout = Some(Span::from_seconds(60));
        };
        let told = unheard(&policy(set));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("behind = \"wait\", head_timeout says nothing"), "{told:?}");
        let without = Policy { fair_sharing: false, ..policy(set) };
        assert_eq!(unheard(&without), Vec::<String>::new());
    }

    #[test]
    fn a_queue_whose_jobs_give_nothing_back_is_named() {
        let told = unheard(&policy(|queue| queue.preemption.preemptible = false));
        assert!(told[0].contains("queue lab: with fair_sharing its jobs keep all"), "{told:?}");
        let bound = policy(|queue| {
            queue.preemption.preemptible = false;
            queue.quota.amounts.gpus_any = Some(Gpus(4));
        });
        assert_eq!(unheard(&bound), Vec::<String>::new());
    }
}
