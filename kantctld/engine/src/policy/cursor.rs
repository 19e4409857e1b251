//! The progress of a round within one kind of waiting jobs.

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use crate::model::wait_queue::{ClassId, Kind, KindFacts, WaitQueue};
use crate::policy::backfill_order::BackfillOrder;
use common::policy::queue::Queue;
use common::time::Span;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, btree_map};
use std::iter::Peekable;
use std::sync::Arc;

pub(super) type Ranked<'a> = (Rank, ClassId, &'a Arc<WaitingJob>);
type Jobs<'a> = Box<dyn Iterator<Item = &'a Arc<WaitingJob>> + 'a>;

/// One class whose first job had its turn.
pub(super) struct Opened<'a> {
    pub class: ClassId,
    pub next: &'a Arc<WaitingJob>,
    pub rest: Jobs<'a>,
}

/// The progress within one kind.
pub(super) struct Cursor<'a> {
    pub facts: &'a KindFacts,
    pub kind: &'a Kind,
    pub queue: Option<&'a Queue>,
    /// Classes that had no turn yet, by the ranks of their first jobs.
    pub heads: Peekable<btree_map::Iter<'a, Rank, ClassId>>,
    pub opened: Vec<Opened<'a>>,
    /// Opened classes, by the ranks of their next jobs.
    pub by_rank: BinaryHeap<Reverse<(Rank, usize)>>,
    /// The class whose job has its turn.
    pub current: Option<(ClassId, Jobs<'a>)>,
    /// The jobs short enough to have a chance, by rank, and the limit below which they are.
    pub shorter: Option<(Span, Peekable<std::vec::IntoIter<Ranked<'a>>>)>,
    /// All jobs in the order for backfill, once the queue has made its promises.
    pub for_backfill: Option<BackfillOrder<'a>>,
    /// Of those jobs, only the ones with a shorter time limit have a chance.
    pub below: Option<Span>,
}

impl<'a> Cursor<'a> {
    /// Before the first job of its kind.
    pub fn new(facts: &'a KindFacts, kind: &'a Kind, queue: Option<&'a Queue>) -> Self {
        Self {
            facts,
            kind,
            queue,
            heads: kind.heads().peekable(),
            opened: Vec::new(),
            by_rank: BinaryHeap::new(),
            current: None,
            shorter: None,
            for_backfill: None,
            below: None,
        }
    }

    pub fn rank(&mut self) -> Option<Rank> {
        if let Some((below, jobs)) = &mut self.shorter {
            while jobs.next_if(|(_, _, job)| job.expected_length() >= *below).is_some() {}
            return jobs.peek().map(|(rank, ..)| *rank);
        }
        let head = self.heads.peek().map(|(rank, _)| **rank);
        let opened = self.by_rank.peek().map(|Reverse((rank, _))| *rank);
        head.into_iter().chain(opened).min()
    }

    pub fn pop(&mut self, wait_queue: &'a WaitQueue) -> Option<(ClassId, &'a Arc<WaitingJob>)> {
        if let Some((_, jobs)) = &mut self.shorter {
            return jobs.next().map(|(_, class, job)| (class, job));
        }
        let head = self.heads.peek().map(|(rank, _)| **rank);
        let opened = self.by_rank.peek().map(|Reverse((rank, _))| *rank);
        if head.is_some_and(|head| opened.is_none_or(|opened| head < opened)) {
            let class = *self.heads.next()?.1;
            let mut jobs: Jobs<'a> = Box::new(wait_queue.class(class)?.jobs());
            let first = jobs.next()?;
            self.current = Some((class, jobs));
            return Some((class, first));
        }
        let Reverse((_, at)) = self.by_rank.pop()?;
        let opened = &mut self.opened[at];
        let rest = std::mem::replace(&mut opened.rest, Box::new(std::iter::empty()));
        self.current = Some((opened.class, rest));
        Some((opened.class, opened.next))
    }
}
