//! What the policy says of a waiting job under fair sharing: the place of its queue, whether it may
//! be preempted while it runs, and its priority in its queue.
//!
//! Reads: the job's queue, QoS and nice. Knobs: `preemptible` of jobs, QoS and queues; `priority`
//! of QoS.
//!
//! Example: a job of a queue whose jobs may be preempted names a QoS whose jobs may not. It may
//! not.

use crate::model::job::WaitingJob;
use crate::model::shares::priority;
use crate::model::shares::tree::Tree;
use crate::model::wait_queue::SharingTerms;
use common::policy::Policy;
use common::policy::queue::Queue;

/// What the policy says of a job. `None`: its queue is gone, or fair sharing is off.
pub(crate) fn sharing_terms(
    tree: &Tree,
    policy: &Policy,
    job: &WaitingJob,
) -> Option<SharingTerms> {
    let at = tree.find(job.queue.as_str())?;
    let queue = policy.queues.get(at.0)?;
    Some(SharingTerms {
        queue: at,
        is_preemptible: is_preemptible(policy, job, queue),
        priority: priority(policy, job.qos.as_ref(), job.nice),
    })
}

/// Whether the job may be preempted while it runs: as it says, or else its QoS, or its queue.
pub(crate) fn is_preemptible(policy: &Policy, job: &WaitingJob, queue: &Queue) -> bool {
    let says = job.preemptible.or_else(|| {
        let qos = policy.qos.iter().find(|qos| Some(&qos.name) == job.qos.as_ref());
        qos.and_then(|qos| qos.preemptible)
    });
    says.unwrap_or(queue.preemption.preemptible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{request, waiting};
    use common::id::{QosName, QueueName};

    #[test]
    fn the_example() {
        let mut job = waiting(1, request(1, 1), 10);
        let mut queue = Queue::with_defaults(QueueName::new("q").unwrap());
        queue.preemption.preemptible = true;
        let name = QosName::new("firm").unwrap();
        let firm = serde_json::json!({ "name": name, "preemptible": false });
        let firm = serde_json::from_value(firm).unwrap();
        let policy = Policy { qos: vec![firm], ..Policy::default() };
        assert!(is_preemptible(&policy, &job, &queue));
        job.qos = Some(name);
        assert!(!is_preemptible(&policy, &job, &queue));
    }
}
