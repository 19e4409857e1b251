//! A kind: classes of waiting jobs that ask for the same in the same queue. If one of them has no
//! room, none has, so a round can skip the others. Empty kinds are removed.

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use crate::model::wait_queue::ClassId;
use common::id::{JobKey, QueueName, ReservationName};
use common::resource::Request;
use common::time::Span;
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::sync::Arc;

/// A kind's number. A snapshot never reuses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindId(pub u32);

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
}

impl KindKey {
    pub const fn queue(&self) -> &QueueName {
        &self.queue
    }
}

/// Classes that ask for the same.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    key: KindKey,
    /// The classes by the ranks of their first jobs.
    heads: BTreeMap<Rank, ClassId>,
    /// The classes by their shortest time limits.
    shortest: BTreeSet<(Span, ClassId)>,
}

impl Kind {
    pub const fn new(key: KindKey) -> Self {
        Self { key, heads: BTreeMap::new(), shortest: BTreeSet::new() }
    }

    pub const fn key(&self) -> &KindKey {
        &self.key
    }

    pub fn is_empty(&self) -> bool {
        self.shortest.is_empty()
    }

    /// Sets the rank of a class's first job.
    pub fn lead(&mut self, class: ClassId, rank: Rank) {
        self.heads.insert(rank, class);
    }

    /// Removes the rank of a class's first job.
    pub fn unlead(&mut self, rank: Rank) {
        self.heads.remove(&rank);
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
