//! The outlook of a job under fair sharing, for display: whether its queue has borrowed what it
//! runs on, and until when it is protected from other queues.
//!
//! Source: KAI Scheduler, minruntime plugin, as in [`crate::model::shares::runtime`]: how long a
//! job is protected depends on where the claiming queue is in the tree.

use super::standings::standings;
use crate::model::job::RunningJob;
use crate::model::shares::runtime::{Method, protection_from_all, reclaim_protection};
use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Kinds, terms};
use crate::model::snapshot::Snapshot;
use common::id::{JobKey, QueueName};
use common::reason::What;
use common::time::{Span, Time};
use common::wire::api::ShareView;
use std::collections::BTreeMap;

/// The outlook of a job, and the shares of its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prospect {
    /// Its queue and that queue's ancestors, with GPUs first.
    pub queues: Vec<ShareView>,
    /// No other queue may preempt it before this time. `None`: it is not protected, or no longer.
    pub safe_until: Option<Time>,
}

/// The outlook of a running or waiting job, as a round at `now` would compute it. `None` for an
/// unknown job, or one whose queue is not configured. Costs as much as [`standings`].
#[must_use]
pub fn prospect(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<Prospect> {
    let running = snapshot.running_job(key);
    let own = running.map(|job| &job.queue);
    let own = own.or_else(|| Some(&snapshot.waiting_job(key)?.queue))?;
    let protections = ReclaimProtections::of(snapshot);
    let (at, _) = protections.spans.get(own)?;
    let tree = &protections.tree;
    let path: Vec<&str> = tree.path(*at).iter().map(|at| tree.terms[at.0].name.as_str()).collect();
    let mut queues = standings(snapshot, now);
    queues.retain(|view| path.contains(&view.queue.as_str()));
    queues.reverse();
    let ends = running.and_then(|job| protections.ends(job).min());
    let safe_until = ends.filter(|until| *until > now);
    Some(Prospect { queues, safe_until })
}

/// How long each queue protects its jobs from other queues.
struct ReclaimProtections<'a> {
    tree: Tree,
    /// One time span for each level, from the nearest queues that could reclaim to the furthest.
    spans: BTreeMap<&'a QueueName, (QueueAt, Vec<Span>)>,
}

impl<'a> ReclaimProtections<'a> {
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let queues = &snapshot.policy.queues;
        let all = queues.iter().enumerate();
        // Bounds do not matter here.
        let none = Kinds::new();
        let tree = Tree::new(terms(queues, &none));
        let spans = all.map(|(at, queue)| {
            (&queue.name, (QueueAt(at), reclaim_protection_spans(&tree, QueueAt(at))))
        });
        Self { spans: spans.collect(), tree }
    }

    /// When the job's protection from other queues ends, for each level of the tree.
    pub fn ends(&self, job: &RunningJob) -> impl Iterator<Item = Time> {
        let spans = self.spans.get(&job.queue).map_or(&[][..], |(_, spans)| spans);
        let started = job.started_at;
        spans.iter().map(move |least| started + *least)
    }
}

/// How long the queue's jobs are protected from other queues, from the nearest that could reclaim.
fn reclaim_protection_spans(tree: &Tree, at: QueueAt) -> Vec<Span> {
    let path = tree.path(at);
    let says = |at: QueueAt| tree.terms[at.0].protection;
    // A sibling of one of these queues is subject to the settings of that queue.
    let beside = |place: &usize| tree.below(path.get(place + 1).copied()).len() > 1;
    let always = protection_from_all(path, says);
    let least = |place: usize| {
        let own = reclaim_protection((&path[place + 1..], path), Method::Lca, says, Span(0));
        own.max(always)
    };
    (0..path.len()).filter(beside).map(least).collect()
}

/// The GPUs of a queue: of all kinds or, where kinds are listed separately, of the first kind that
/// it borrows.
#[must_use]
pub fn gpus_of(view: &ShareView) -> Option<&common::wire::api::ShareOf> {
    let gpus = || view.of.iter().filter(|of| of.what == What::Gpus);
    gpus()
        .find(|of| of.gpu_kind.is_none())
        .or_else(|| gpus().find(|of| of.borrowed > 0).or_else(|| gpus().next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::preempt::tests::{World, of, queue};
    use crate::testing::{change_policy, gpu_node, gpu_request, key};
    use common::policy::queue::Queue;

    #[test]
    fn a_job_is_safe_until_the_first_of_the_others_may_ask() {
        let minutes = |minutes| Some(Span::from_minutes(minutes));
        let below = |name: &str, least| Queue {
            parent: Some(QueueName::new("lab").unwrap()),
            reclaim_runtime_min: least,
            ..queue(name)
        };
        let lab = Queue { reclaim_runtime_min: minutes(10), ..queue("lab") };
        let queues = vec![lab, queue("ops"), below("x", minutes(30)), below("y", None)];
        let mut world = World::new(vec![gpu_node("a", 8)], queues);
        change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
        world.submit(of(1, gpu_request(2), "x", "low")).submit(of(2, gpu_request(2), "y", "low"));
        world.submit(of(3, gpu_request(2), "ops", "low"));
        assert_eq!(world.round().len(), 3);
        // Other queues of the lab may preempt x after 30 minutes, `ops` after the 10 that the lab
        // sets.
        let outlook = |job| prospect(&world.snapshot, world.minute(5), key(job)).unwrap();
        assert_eq!(outlook(1).safe_until, Some(world.minute(10)));
        assert_eq!(outlook(2).safe_until, Some(world.minute(10)));
        assert_eq!(outlook(3).safe_until, None);
        let names: Vec<_> = outlook(1).queues.iter().map(|view| view.queue.to_string()).collect();
        assert_eq!(names, ["x", "lab"]);
        assert_eq!(gpus_of(&outlook(1).queues[1]).unwrap().held, 4000);
        let protections = ReclaimProtections::of(&world.snapshot);
        let ends = protections.ends(world.snapshot.running_job(key(1)).unwrap());
        assert_eq!(ends.collect::<Vec<_>>(), [world.minute(30), world.minute(10)]);
    }
}
