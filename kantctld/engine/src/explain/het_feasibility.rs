//! Whether the components of a set could ever start together, for refusing the set at submission.
//!
//! Example. One node of 8 GPUs. Components of 5 and 3 GPUs could start together. Components of 5
//! and 4 could not, though each could by itself.

use crate::explain::feasibility::with_grouped_nodes;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::snapshot::Snapshot;
use crate::round::schedule;
use common::id::{JobId, JobKey};
use common::reason::WaitReason;
use common::time::Time;
use std::sync::Arc;

/// Whether all components would start in one round if no other job ran or waited and all nodes were
/// up. Their keys do not matter. With no nodes at all, nothing is known and nothing is refused.
///
/// # Errors
/// The index of a component, and why it would wait.
pub fn could_ever_start_together(
    snapshot: &Snapshot,
    components: Vec<WaitingJob>,
) -> Result<(), (usize, WaitReason)> {
    let snapshot = with_grouped_nodes(snapshot);
    if snapshot.cluster.len() == 0 {
        return Ok(());
    }
    let mut idle = Snapshot::default();
    idle.set_policy(Arc::clone(&snapshot.policy));
    for node in snapshot.cluster.snapshots() {
        idle.set_node(&NodeSnapshot { unusable: None, ..node });
    }
    let first = JobKey::single(JobId(1));
    let mut keys = Vec::new();
    for (number, component) in (first.job.0..).zip(components) {
        let key = JobKey::single(JobId(number));
        keys.push(key);
        idle.set_waiting(WaitingJob {
            key,
            together: Some(first),
            // Begin times and reservations are checked elsewhere.
            begin_at: None,
            not_before: None,
            deadline: None,
            reservation: None,
            ..component
        });
    }
    let now = Time(0);
    idle.prepare_for_round(now);
    let round = schedule(&idle, now);
    let starts = |key: JobKey| {
        let is_it =
            |one: &Decision| matches!(one, Decision::Start { key: other, .. } if *other == key);
        round.decisions.iter().any(is_it)
    };
    let mut waits = keys.iter().enumerate().filter(|(_, key)| !starts(**key));
    let refusal = |(place, key): (usize, &JobKey)| {
        let reason = round.waits.reason_of(&idle, *key).unwrap_or(WaitReason::NotConsidered);
        (place, reason)
    };
    waits.next().map_or(Ok(()), |wait| Err(refusal(wait)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change_policy, gpu_node, gpu_request, run, share, snapshot, waiting};
    use common::unit::Gpus;

    fn set(gpus: &[u32]) -> Vec<WaitingJob> {
        gpus.iter().map(|gpus| waiting(7, gpu_request(*gpus), 10)).collect()
    }

    #[test]
    fn the_example() {
        let nodes = snapshot(vec![gpu_node("a", 8)]);
        assert_eq!(could_ever_start_together(&nodes, set(&[5, 3])), Ok(()));
        let (place, reason) = could_ever_start_together(&nodes, set(&[5, 4])).unwrap_err();
        assert_eq!(place, 0, "{reason}");
        assert_eq!(could_ever_start_together(&snapshot(Vec::new()), set(&[5, 4])), Ok(()));
    }

    #[test]
    fn what_runs_and_what_is_down_keeps_no_set_from_being_let_in() {
        let mut nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
        nodes[1].unusable = Some(crate::Unusable::Down);
        let mut nodes = snapshot(nodes);
        run(&mut nodes, 1, share("a", "0-3"), None);
        assert_eq!(could_ever_start_together(&nodes, set(&[8, 8])), Ok(()));
    }

    #[test]
    fn a_limit_that_each_keeps_and_the_set_does_not_is_reported() {
        let mut nodes = snapshot(vec![gpu_node("a", 8)]);
        change_policy(&mut nodes, |policy| policy.queues[0].limits.gpus = Some(Gpus(4)));
        let (_, reason) = could_ever_start_together(&nodes, set(&[3, 2])).unwrap_err();
        assert!(matches!(reason, WaitReason::LimitReached { .. }), "{reason}");
    }
}
