//! A kind: classes of waiting jobs that ask for the same in the same queue. If one of them has no
//! room, none has, so a round can skip the others. Empty kinds are removed.

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use crate::model::wait_queue::ClassId;
use crate::model::wait_queue::buckets::Buckets;
use common::id::{JobKey, QueueName, ReservationName};
use common::resource::{GpuRequest, Request};
use common::time::Span;
use common::unit::{Nodes, Tasks};
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::sync::Arc;

/// A kind's number. A snapshot never reuses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindId(pub u32);

/// A number for what a kind asks of one node. Kinds that differ only in the number of nodes share
/// it: a node that holds a part of one of them holds a part of each. A snapshot never reuses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartId(pub u32);

/// What the jobs of a kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindKey {
    queue: QueueName,
    request: Arc<Request>,
    reservation: Option<ReservationName>,
    service: bool,
    /// The components of a set are kinds of their own.
    together: Option<JobKey>,
}

impl KindKey {
    pub fn of(job: &WaitingJob) -> Self {
        Self {
            queue: job.queue.clone(),
            request: job.request.clone(),
            reservation: job.reservation.clone(),
            service: job.service,
            together: job.together,
        }
    }

    pub const fn request(&self) -> &Arc<Request> {
        &self.request
    }

    /// The same for one of its nodes. A kind whose parts may differ has this to itself.
    pub fn of_one_node(&self) -> Self {
        let request = &*self.request;
        let Some(nodes) = request.nodes.filter(|nodes| {
            let is_even = request.tasks.0.is_multiple_of(nodes.0.max(1));
            nodes.0 > 1 && is_even && !matches!(request.gpus, Some(GpuRequest::Total(_)))
        }) else {
            return self.clone();
        };
        let tasks = Tasks(request.tasks.0 / nodes.0);
        let one = Request { nodes: Some(Nodes(1)), tasks, ..request.clone() };
        Self { request: Arc::new(one), ..self.clone() }
    }
}

/// What a round asks first of each of thousands of kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindFacts {
    pub id: KindId,
    pub part: PartId,
    /// The number of nodes that its jobs ask for. `None`: they leave it open.
    pub nodes: Option<Nodes>,
    pub queue: QueueName,
}

/// Classes that ask for the same.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    key: KindKey,
    /// What it asks of one node.
    pub part: PartId,
    /// The classes by the ranks of their first jobs.
    heads: BTreeMap<Rank, ClassId>,
    /// The classes by their shortest time limits.
    shortest: BTreeSet<(Span, ClassId)>,
    /// The jobs of all classes.
    pub buckets: Buckets,
}

impl Kind {
    pub fn new(key: KindKey, part: PartId) -> Self {
        Self {
            key,
            part,
            heads: BTreeMap::new(),
            shortest: BTreeSet::new(),
            buckets: Buckets::default(),
        }
    }

    pub const fn key(&self) -> &KindKey {
        &self.key
    }

    pub fn is_empty(&self) -> bool {
        self.shortest.is_empty()
    }

    /// The facts of the kind with this number.
    pub fn facts(&self, id: KindId) -> KindFacts {
        let KindKey { queue, request, .. } = &self.key;
        KindFacts { id, part: self.part, nodes: request.nodes, queue: queue.clone() }
    }

    /// The rank of its first job.
    pub fn rank(&self) -> Option<Rank> {
        self.heads.first_key_value().map(|(rank, _)| *rank)
    }

    /// Sets the rank of a class's first job.
    pub fn insert_class_rank(&mut self, class: ClassId, rank: Rank) {
        self.heads.insert(rank, class);
    }

    /// Removes the rank of a class's first job.
    pub fn remove_class_rank(&mut self, class: ClassId, rank: Rank) {
        // The job may lead another class by now.
        if self.heads.get(&rank) == Some(&class) {
            self.heads.remove(&rank);
        }
    }

    /// Changes a class's shortest time limit.
    pub fn change_shortest(&mut self, class: ClassId, was: Option<Span>, is: Option<Span>) {
        if let Some(was) = was {
            self.shortest.remove(&(was, class));
        }
        if let Some(is) = is {
            self.shortest.insert((is, class));
        }
    }

    /// The classes by the ranks of their first jobs.
    pub fn heads(&self) -> btree_map::Iter<'_, Rank, ClassId> {
        self.heads.iter()
    }

    /// Whether all of its jobs have the same priority of queue and QoS, and the same nice.
    pub fn has_one_tier(&self) -> bool {
        let tier = |rank: &Rank| (rank.queue, rank.qos, rank.nice);
        let first = self.heads.first_key_value().map(|(rank, _)| tier(rank));
        first == self.heads.last_key_value().map(|(rank, _)| tier(rank))
    }

    /// The classes, the one with the shortest time limit first.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.shortest.iter().map(|(_, class)| *class)
    }

    /// The classes with a job of a shorter time limit than this.
    pub fn classes_below(&self, limit: Span) -> impl Iterator<Item = ClassId> + '_ {
        self.shortest.range(..(limit, ClassId(0))).map(|(_, class)| *class)
    }

    /// The shortest time limit of its jobs.
    pub fn limit_min(&self) -> Span {
        self.shortest.first().map_or(crate::model::job::UNLIMITED, |(limit, _)| *limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{request, waiting};

    #[test]
    fn kinds_that_differ_only_in_the_number_of_nodes_ask_the_same_of_each() {
        let on = |nodes: u32, tasks: u32| {
            let asked = Request { nodes: Some(Nodes(nodes)), ..request(tasks, 2) };
            KindKey::of(&waiting(1, asked, 10)).of_one_node()
        };
        assert_eq!(on(1, 3), on(4, 12));
        assert_ne!(on(1, 3), on(4, 16), "more tasks on each node");
        assert_ne!(on(1, 3), on(4, 13), "parts of different sizes");
    }
}
