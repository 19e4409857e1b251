//! What jobs without room ask of one node, and the nodes that hold it: what earlier rounds found,
//! compared with what was freed since. Jobs on any number of nodes share it, so a round asks each
//! of these nodes once and not for each of thousands of kinds of jobs.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::tally::Takes;
use crate::model::job::{UNLIMITED, WaitingJob};
use crate::model::shape::{Placing, Shape};
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::{Candidates, FREED_MAX, Full, Ready, Snapshot};
use crate::model::wait_queue::{KindFacts, KindId, PartId};
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::Bookings;
use common::id::JobKey;
use common::policy::queue::Queue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is known of a job's room without a search.
#[derive(Debug, Clone)]
pub(super) enum KnownRoom {
    /// Nothing.
    Unknown,
    /// Only these nodes have some.
    Among(Arc<[NodeIndex]>),
    /// There is none, even without what is kept for others.
    None,
    /// There is some, but not without a delay of the given job or (`None`) of several jobs or a
    /// reservation.
    Kept(Option<JobKey>),
}

/// What a round found of full nodes.
#[derive(Debug, Default)]
pub(super) struct FoundFull {
    /// The nodes that hold one node's part of jobs without room, without what is kept for others.
    pub holding: BTreeMap<PartId, Holding>,
    /// Kinds without room that an idle cluster could hold.
    pub possible: BTreeSet<KindId>,
    /// When nodes will be ready for parts of jobs whose starts were planned.
    pub ready: BTreeMap<PartId, Vec<Ready>>,
}

/// The only nodes that may hold a part of a job, ascending.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    pub nodes: Arc<[NodeIndex]>,
    least: Takes,
    needs: usize,
    /// The number of decisions when all of them held it. `None`: some may not.
    held_at: Option<usize>,
    /// How many of them a job may take that ends after the start that this shadow, by its index,
    /// promises, without taking what the shadow counts on. For as many decisions as `held_at`.
    pub safe: Vec<(usize, usize)>,
}

impl RoundState<'_> {
    /// What earlier rounds and the nodes freed since show of the room of a job of this kind.
    pub(super) fn known_room(
        &mut self,
        kind: KindId,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> KnownRoom {
        let Some(part) = self.snapshot.wait_queue.kind_of(kind).map(|kind| kind.part) else {
            return KnownRoom::Unknown;
        };
        if !self.fits_by_node_count(job, self.shapes.get(index)) {
            return KnownRoom::Unknown;
        }
        let needs = self.shapes.get(index).node_count().unwrap_or_default().0 as usize;
        if self.are_too_few(part, needs) {
            return KnownRoom::None;
        }
        match self.nodes_that_may_hold(part) {
            None => return KnownRoom::Unknown,
            Some(holding) if holding.nodes.len() < needs => return KnownRoom::None,
            Some(_) => {}
        }
        let nodes = self.nodes_that_hold(part, job, index);
        let shape = self.shapes.get(index);
        let each = shape.demand.even_part(shape.node_count().unwrap_or_default(), 0);
        let is_open = self.bookings.is_empty() && job.reservation.is_none();
        let (mut has_open, mut has_room) = (false, false);
        for side in shape.sides() {
            let search = self.node_search_of(job, shape, side, &[]);
            let is_there = |at: &&NodeIndex| shape.is_on_side(search.cluster(), **at, side.side);
            if nodes.iter().filter(is_there).take(needs).count() < needs {
                continue;
            }
            has_open = true;
            let left = || nodes.iter().filter(is_there).filter(|at| search.holds(**at, each));
            has_room |= is_open || left().take(needs).count() == needs;
        }
        match (has_open, has_room) {
            (_, true) => match self.delayed_job(part, job, index, &nodes) {
                Some(delayed) => KnownRoom::Kept(Some(delayed)),
                None => KnownRoom::Among(nodes),
            },
            (true, false) => KnownRoom::Kept(None),
            (false, false) => KnownRoom::None,
        }
    }

    /// Whether no job of this kind has room, or each would delay a planned start, as far as that is
    /// known without a search. Only for queues that have made all their planned starts.
    pub fn is_kind_full(&mut self, kind: &KindFacts, queue: &Queue) -> bool {
        if !self.snapshot.is_silent
            || !self.awaiting.is_empty()
            || !self.snapshot.resume_cursor.is_empty()
            || self.may_preempt_others(queue)
            || self.planned_kinds.contains(&kind.id)
        {
            return false;
        }
        let Some(known) =
            self.snapshot.full.candidates_for_part(kind.part).map(|known| known.needs)
        else {
            return false;
        };
        let needs = kind.nodes.map_or(known, |nodes| nodes.0 as usize);
        self.are_too_few(kind.part, needs)
            || self
                .nodes_that_may_hold(kind.part)
                .is_some_and(|holding| holding.nodes.len() < needs)
            || self.all_delay(kind, needs)
    }

    /// Whether fewer nodes than this may hold the part, as far as the lengths of lists show.
    fn are_too_few(&self, part: PartId, needs: usize) -> bool {
        if let Some(holding) = self.found_full.holding.get(&part) {
            return holding.nodes.len() < needs;
        }
        self.snapshot.full.candidates_for_part(part).is_some_and(|known| {
            known.nodes.len() + self.snapshot.full.freed_since(known.since).len() < needs
        })
    }

    /// Whether even the shortest job of this kind is known to delay a planned start.
    fn all_delay(&self, kind: &KindFacts, needs: usize) -> bool {
        let Some(holding) = self.found_full.holding.get(&kind.part) else { return false };
        let is_known = holding.held_at == Some(self.decisions.len()) && !holding.safe.is_empty();
        if !is_known || !self.bookings.is_empty() {
            return false;
        }
        let Some(kind) = self.snapshot.wait_queue.kind_of(kind.id) else { return false };
        let ends = self.ends_by(Some(kind.limit_min()).filter(|limit| *limit < UNLIMITED));
        holding.safe.iter().any(|(which, safe)| {
            let shadow = &self.shadows[*which].1;
            let spare = shadow.part_and_spare().map_or(usize::MAX, |(_, spare)| spare);
            ends > shadow.at && *safe < needs.saturating_sub(spare)
        })
    }

    /// The only nodes that may hold this part. `None`: it is not known.
    fn nodes_that_may_hold(&mut self, part: PartId) -> Option<&Holding> {
        if !self.found_full.holding.contains_key(&part) {
            let known = self.snapshot.full.candidates_for_part(part)?;
            let freed = self.snapshot.full.freed_since(known.since);
            if freed.len() > FREED_MAX.max(self.snapshot.cluster.len() / 4) {
                return None;
            }
            let (needs, least) = (known.needs, known.least);
            let may_hold = |at: &NodeIndex| {
                let free = self.trial.free(*at);
                least.resources.fits_in(&free.resources()) && free.milli_sum() >= least.milli.0
            };
            let all = known.nodes.iter().chain(freed).copied();
            let mut nodes: Vec<NodeIndex> = all.filter(may_hold).collect();
            if !freed.is_empty() {
                nodes.sort_unstable();
                nodes.dedup();
            }
            self.remember(part, (needs, least), (nodes, None));
        }
        self.found_full.holding.get(&part)
    }

    /// The nodes that hold a part of this job now, of those that may. What is free only shrinks in
    /// a round, so they are asked again only after decisions.
    fn nodes_that_hold(
        &mut self,
        part: PartId,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> Arc<[NodeIndex]> {
        let now = self.decisions.len();
        let Some(known) = self.found_full.holding.get(&part) else { return Arc::default() };
        if known.held_at == Some(now) {
            return known.nodes.clone();
        }
        let shape = self.shapes.get(index);
        let each = shape.demand.even_part(shape.node_count().unwrap_or_default(), 0);
        let sides = shape.sides();
        let nothing = Bookings::default();
        let open = |side: &Placing| NodeSearch {
            bookings: &nothing,
            reservation: None,
            ..self.node_search_of(job, shape, *side, &[])
        };
        let holds = |at: &NodeIndex| sides.iter().any(|side| open(side).holds(*at, each));
        let nodes: Vec<NodeIndex> = known.nodes.iter().copied().filter(holds).collect();
        let (needs, least) = (known.needs, known.least);
        self.remember(part, (needs, least), (nodes, Some(now)));
        self.found_full.holding.get(&part).map(|known| known.nodes.clone()).unwrap_or_default()
    }

    /// Whether jobs of this queue may ask others to give up nodes.
    pub(super) fn may_preempt_others(&self, queue: &Queue) -> bool {
        queue.preemption.by_priority || (queue.preemption.reclaim && self.snapshot.has_bounds)
    }

    /// Whether there would be room without what is kept for others. Notes the nodes for other kinds
    /// and for later rounds. `None`: only a search shows that.
    pub(super) fn has_open_room(
        &mut self,
        kind: KindId,
        job: &WaitingJob,
        index: ShapeIndex,
    ) -> Option<bool> {
        let shape = self.shapes.get(index);
        if !self.snapshot.is_silent || !self.fits_by_node_count(job, shape) {
            return None;
        }
        let needs = shape.node_count()?.0 as usize;
        let each = shape.demand.even_part(shape.node_count()?, 0);
        let (mut holding, mut is_open) = (Vec::new(), false);
        let mut least = Takes::default();
        for side in shape.sides() {
            let search = self.node_search_of(job, shape, side, &[]);
            let open = NodeSearch { bookings: &Bookings::default(), reservation: None, ..search };
            least = open.takes_least(each);
            let from = holding.len();
            holding.extend(open.all_that_hold(each));
            is_open |= holding.len() - from >= needs;
        }
        holding.sort_unstable();
        if let Some(kind) = self.snapshot.wait_queue.kind_of(kind) {
            let held_at = Some(self.decisions.len());
            self.remember(kind.part, (needs, least), (holding, held_at));
        }
        Some(is_open)
    }

    fn remember(
        &mut self,
        part: PartId,
        (needs, least): (usize, Takes),
        (nodes, held_at): (Vec<NodeIndex>, Option<usize>),
    ) {
        let holding = Holding { nodes: nodes.into(), least, needs, held_at, safe: Vec::new() };
        self.found_full.holding.insert(part, holding);
    }

    /// What the next round needs to know.
    pub(super) fn what_is_full(&mut self) -> Full {
        let since = self.snapshot.full.log_len();
        let parts = self.found_full.holding.iter().map(|(part, holding)| {
            let Holding { needs, least, ref nodes, .. } = *holding;
            (*part, Candidates { needs, least, nodes: nodes.clone(), since })
        });
        Full {
            parts: parts.collect(),
            possible: std::mem::take(&mut self.found_full.possible),
            ready: std::mem::take(&mut self.found_full.ready),
        }
    }

    /// Whether the job fits exactly if enough nodes hold one and the same part, and nothing is kept
    /// for it or for jobs that wait for victims.
    fn fits_by_node_count(&self, job: &WaitingJob, shape: &Shape<'_>) -> bool {
        has_one_part(job, shape)
            && self.awaiting.is_empty()
            && !self.planned_starts.contains_key(&job.key)
    }
}

/// Whether the job fits exactly if enough nodes hold one and the same part.
pub(super) fn has_one_part(job: &WaitingJob, shape: &Shape<'_>) -> bool {
    let request = &job.request;
    let is_even = shape.node_count().is_some_and(|nodes| {
        let ends = [0, nodes.0.saturating_sub(1)];
        let [first, last] = ends.map(|rank| shape.demand.even_part(nodes, rank));
        first == last
    });
    is_even
        && request.near.is_none()
        && request.segment.is_none()
        && request.tasks_min.is_none()
        && job.together.is_none()
}

/// The kinds of the jobs with planned starts.
pub(super) fn planned_kinds(snapshot: &Snapshot) -> BTreeSet<KindId> {
    let queue = &snapshot.wait_queue;
    let kind = |key: &JobKey| Some(queue.class(queue.class_of(*key)?)?.kind);
    snapshot.planned_starts.keys().filter_map(kind).collect()
}
