//! Kinds of jobs that earlier rounds found full, compared with what was freed since.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::tally::Takes;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::{CANDIDATES_MAX, Candidates, Snapshot};
use crate::model::wait_queue::KindId;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::Bookings;
use common::id::JobKey;
use common::policy::queue::Queue;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A kind is compared with at most this many freed nodes without a search.
const LOOKS_MAX: usize = 64;

/// What is known of a job's room without a search.
#[derive(Debug, Clone)]
pub(super) enum KnownRoom {
    /// Nothing.
    Unknown,
    /// Only these nodes have some.
    Among(Rc<[NodeIndex]>),
    /// There is none, even without what is kept for others.
    None,
    /// There is some, but not without a delay of the given job or (`None`) of several jobs or a
    /// reservation.
    Kept(Option<JobKey>),
}

impl RoundState<'_> {
    /// What earlier rounds and the nodes freed since show of the room of a job of this kind.
    pub(super) fn known_room(
        &mut self,
        kind: KindId,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> KnownRoom {
        let Some(known) = self.snapshot.full.of(kind) else { return KnownRoom::Unknown };
        let shape = self.shapes.get(index);
        let freed = self.snapshot.full.freed_since(known.since);
        let is_much = freed.len() > CANDIDATES_MAX.max(self.snapshot.cluster.len() / 4);
        if is_much || !self.counts_nodes(job, shape) {
            return KnownRoom::Unknown;
        }
        if known.nodes.len() + freed.len() < known.needs {
            return KnownRoom::None;
        }
        let part = shape.demand.even_part(shape.nodes().unwrap_or_default(), 0);
        let mut nodes = [&known.nodes, freed].concat();
        nodes.sort_unstable();
        nodes.dedup();
        let (mut holding, mut has_open, mut has_room) = (Vec::new(), false, false);
        for side in shape.sides() {
            let search = self.node_search_of(job, shape, side, &[]);
            let open = NodeSearch { bookings: &Bookings::default(), reservation: None, ..search };
            let held = nodes.iter().copied().filter(|at| open.holds(*at, part));
            let from = holding.len();
            holding.extend(held);
            let held = &holding[from..];
            if held.len() >= known.needs {
                has_open = true;
                let left = held.iter().filter(|at| search.holds(**at, part));
                has_room |= left.take(known.needs).count() == known.needs;
            }
        }
        holding.sort_unstable();
        let room = match (has_open, has_room) {
            (_, true) => match self.delays(job, index, &holding) {
                Some(delayed) => KnownRoom::Kept(Some(delayed)),
                None => KnownRoom::Among(holding.as_slice().into()),
            },
            (true, false) => KnownRoom::Kept(None),
            (false, false) => KnownRoom::None,
        };
        self.remember(kind, (known.needs, known.least), holding);
        room
    }

    /// Whether no job of this kind has room, as far as a short look at the freed nodes shows. Only
    /// for queues that have made all their planned starts.
    pub fn is_kind_full(&mut self, kind: KindId, queue: &Queue) -> bool {
        if !self.snapshot.is_silent
            || !self.awaiting.is_empty()
            || !self.snapshot.resume_cursor.is_empty()
            || self.asks_others(queue)
            || !self.heads.contains_key(&queue.name)
            || !self.queue_is_done(&queue.name)
            || self.planned_kinds.contains(&kind)
        {
            return false;
        }
        let Some(known) = self.snapshot.full.of(kind) else { return false };
        let freed = self.snapshot.full.freed_since(known.since);
        if known.nodes.len() + freed.len() < known.needs {
            return true;
        }
        if known.nodes.len() >= known.needs || freed.len() > LOOKS_MAX {
            return false;
        }
        let may_hold = |at: &&NodeIndex| {
            let free = self.trial.free(**at);
            known.least.resources.fits_in(&free.resources())
                && free.milli_sum >= known.least.milli.0
        };
        let nodes: Vec<NodeIndex> =
            known.nodes.iter().chain(freed).filter(may_hold).copied().collect();
        let is_full = nodes.len() < known.needs;
        if is_full {
            self.remember(kind, (known.needs, known.least), nodes);
        }
        is_full
    }

    /// Whether jobs of this queue may ask others to give up nodes.
    pub(super) fn asks_others(&self, queue: &Queue) -> bool {
        queue.preemption.by_priority || (queue.preemption.reclaim && self.snapshot.has_bounds)
    }

    /// Whether there would be room without what is kept for others. Notes the nodes for later
    /// rounds. `None`: only a search shows that.
    pub(super) fn has_open_room(
        &mut self,
        kind: KindId,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> Option<bool> {
        let shape = self.shapes.get(index);
        if !self.snapshot.is_silent || !self.counts_nodes(job, shape) {
            return None;
        }
        let needs = shape.nodes()?.0 as usize;
        let part = shape.demand.even_part(shape.nodes()?, 0);
        let most = CANDIDATES_MAX + needs;
        let (mut holding, mut is_open) = (Vec::new(), false);
        let mut least = Takes::default();
        for side in shape.sides() {
            let search = self.node_search_of(job, shape, side, &[]);
            let open = NodeSearch { bookings: &Bookings::default(), reservation: None, ..search };
            least = open.takes_least(part);
            let from = holding.len();
            holding.extend(open.all_that_hold(part).take(most));
            is_open |= holding.len() - from >= needs;
            if holding.len() >= most {
                return Some(is_open);
            }
        }
        holding.sort_unstable();
        self.remember(kind, (needs, least), holding);
        Some(is_open)
    }

    fn remember(&mut self, kind: KindId, (needs, least): (usize, Takes), nodes: Vec<NodeIndex>) {
        let since = self.snapshot.full.log_len();
        self.kinds_full.0.insert(kind, Candidates { needs, least, nodes, since });
    }

    /// Whether the job fits exactly if enough nodes hold one and the same part, and nothing is kept
    /// for it or for jobs that wait for victims.
    fn counts_nodes(&self, job: &WaitingJob, shape: &Shape<'_>) -> bool {
        let request = &job.request;
        let is_even = shape.nodes().is_some_and(|nodes| {
            let ends = [0, nodes.0.saturating_sub(1)];
            let [first, last] = ends.map(|rank| shape.demand.even_part(nodes, rank));
            first == last
        });
        is_even
            && request.near.is_none()
            && request.segment.is_none()
            && request.tasks_min.is_none()
            && job.together.is_none()
            && self.awaiting.is_empty()
            && !self.planned_starts.contains_key(&job.key)
    }
}

/// The kinds of the jobs with planned starts.
pub(super) fn planned_kinds(snapshot: &Snapshot) -> BTreeSet<KindId> {
    let queue = &snapshot.wait_queue;
    let kind = |key: &JobKey| Some(queue.class(queue.class_of(*key)?)?.kind);
    snapshot.planned_starts.keys().filter_map(kind).collect()
}
