//! The working state of a round: what is free, what is kept, and the reasons of jobs. `queue_scan`
//! orders the jobs.

mod admission;
mod again;
mod consider;
mod delay;
mod explain;
mod extending;
mod full;
mod future_claim;
mod granting;
mod growing;
mod het_job;
mod het_placement;
mod het_reserve;
mod leaving;
mod moving;
mod preempting;
mod ready;
mod reserve;
mod settle;
mod sooner;
mod start;

use crate::model::cluster::freed::Freed;
use crate::model::cluster::node::NEVER;
use crate::model::decision::Decision;
use crate::model::hold::GivenUp;
use crate::model::job::WaitingJob;
use crate::model::queues::Queues;
use crate::model::shape::{Placing, Shape};
use crate::model::shape_cache::{RoomIndex, ShapeCache, ShapeIndex};
use crate::model::snapshot::{PlannedStart, Snapshot};
use crate::model::usage_accounting::{Claim, QuotaStatus, UsageAccounting};
use crate::model::wait_queue::KindId;
use crate::model::yardstick::Yardsticks;
use crate::place::backfill::shadow::Shadow;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::Bookings;
use crate::place::trial::Trial;
use crate::policy::admit::Arrays;
use crate::round::preempt::Asks;
use crate::round::round_result::{Cost, Round};
use crate::round::waits::Waits;
use again::Searches;
use common::id::{JobKey, QueueName};
use common::policy::Placement;
use common::reason::WaitReason;
use common::time::{Span, Time};
use full::FoundFull;
use future_claim::FutureClaim;
pub(crate) use het_placement::Component;
pub(crate) use leaving::Victim;
pub(crate) use moving::Mover;
use preempting::Awaiting;
pub(crate) use preempting::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// The most searches for a place in one round, unless the snapshot sets another bound. The
/// remaining jobs are considered in the next round. A job of a shape that is already known not to
/// fit costs no search.
pub(crate) const TRIALS_MAX: u32 = 20_000;

/// The delay of the next round after a promise was dropped, for jobs that found no room before.
const DROPPED_LOOK: Span = Span::from_seconds(1);

/// A job that has no room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRoom<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub shape: ShapeIndex,
    /// Whether it would be within its queue's quota.
    pub quota_status: QuotaStatus,
}

/// Certain shadows, the numbers of decisions and of all shadows at that time, and the nodes that
/// those shadows count on.
type Avoided = (Vec<usize>, (usize, usize), Rc<Vec<bool>>);

/// The working state of a round.
pub(crate) struct RoundState<'a> {
    pub snapshot: &'a Snapshot,
    pub now: Time,
    pub queues: Queues<'a>,
    pub trial: Trial<'a>,
    pub shapes: ShapeCache<'a>,
    /// NodeUsages that are full even without what is kept for others. What is free only shrinks in
    /// a round.
    full: BTreeSet<RoomIndex>,
    pub accounting: UsageAccounting,
    pub arrays: Arrays,
    pub bookings: Bookings,
    /// Where resources were freed since jobs were planned.
    freed: Freed,
    /// The job whose promise is known not to come sooner.
    stays: Option<JobKey>,
    pub shadows: Vec<(&'a QueueName, Shadow)>,
    /// The first job without room of each queue, and how many promises the queue has made.
    pub heads: BTreeMap<&'a QueueName, (JobKey, u32)>,
    pub planned_starts: BTreeMap<JobKey, PlannedStart>,
    /// Jobs with kept promises whose turn has not come.
    unmet: BTreeSet<JobKey>,
    /// Kinds with such a job.
    planned_kinds: BTreeSet<KindId>,
    /// What is known about preempting other jobs.
    pub asks: Asks<'a>,
    /// What shrinking jobs give up.
    parts: BTreeMap<JobKey, Arc<GivenUp>>,
    /// Jobs for which room is kept until their victims are gone.
    awaiting: BTreeMap<JobKey, Awaiting>,
    /// Jobs with victims: how many victims, and one of them.
    yielders: BTreeMap<JobKey, (u32, JobKey)>,
    pub waits: Waits,
    pub decisions: Vec<Decision>,
    pub next_look: Option<Time>,
    searches: Searches,
    /// What this round found of full nodes, for other kinds and for later rounds.
    found_full: FoundFull,
    /// The quota that promised jobs will need.
    future_claims: Vec<FutureClaim>,
    /// The claims of jobs that start in this round, and when they end.
    started: Vec<(Claim, Option<Time>)>,
    /// Claims of jobs that a quota refused once their nodes were known.
    priced: BTreeMap<JobKey, Claim>,
    /// The usage accounting as if nothing ran, computed on demand.
    empty: Option<UsageAccounting>,
    /// For rooms that are full: why none of their jobs could ever have room.
    never: BTreeMap<RoomIndex, Option<WaitReason>>,
    /// The nodes that certain shadows count on, and when that was computed.
    avoid: Option<Avoided>,
}

impl<'a> RoundState<'a> {
    pub fn new(snapshot: &'a Snapshot, now: Time) -> Self {
        let policy = &snapshot.policy;
        let mut state = Self {
            snapshot,
            now,
            queues: Queues::new(policy, &snapshot.places),
            trial: Trial::of(&snapshot.cluster),
            shapes: ShapeCache::new(yardsticks(snapshot)),
            full: BTreeSet::new(),
            accounting: snapshot.accounting.clone(),
            arrays: Arrays::of(snapshot),
            bookings: Bookings::of(&snapshot.cluster, snapshot.reservations.values(), now),
            freed: snapshot.freed.clone(),
            stays: None,
            shadows: Vec::new(),
            heads: BTreeMap::new(),
            planned_starts: BTreeMap::new(),
            unmet: BTreeSet::new(),
            planned_kinds: full::planned_kinds(snapshot),
            asks: Asks::default(),
            parts: snapshot.parts_given_up().map(|(key, part)| (key, part.clone())).collect(),
            awaiting: BTreeMap::new(),
            yielders: BTreeMap::new(),
            waits: Waits::new(now),
            decisions: Vec::new(),
            next_look: None,
            searches: Searches::new(snapshot, now),
            found_full: FoundFull::default(),
            future_claims: Vec::new(),
            started: Vec::new(),
            priced: BTreeMap::new(),
            empty: None,
            never: BTreeMap::new(),
            avoid: None,
        };
        state.schedule_next_round(snapshot.wait_queue.next_due_time());
        for booking in snapshot.reservations.values() {
            state.schedule_next_round(Some(booking.from).filter(|from| *from > now));
            state.schedule_next_round(Some(booking.to).filter(|to| *to > now));
        }
        state.keep_rooms();
        state.keep_planned_starts();
        state
    }

    /// Schedules another round by then.
    pub fn schedule_next_round(&mut self, at: Option<Time>) {
        self.next_look = self.next_look.into_iter().chain(at).min();
    }

    /// The latest end, by its time limit, of a job that starts now.
    pub fn ends_by(&self, limit: Option<Span>) -> Time {
        limit.map_or(NEVER, |limit| self.now + limit)
    }

    /// Why no job of this shape could ever start. `None`: one could.
    pub fn never_fits_reason(&mut self, shape: ShapeIndex) -> Option<WaitReason> {
        let cluster = &self.snapshot.cluster;
        let room = self.shapes.room_of(shape);
        if let Some(known) = self.never.get(&room) {
            return known.clone();
        }
        let of = self.shapes.get(shape);
        let never =
            crate::place::idle_fit::could_fit(cluster, of, &of.usable_nodes_by_class(cluster))
                .and_then(|()| crate::place::idle_fit::could_be_near(cluster, of))
                .err();
        self.never.insert(room, never.clone());
        never
    }

    /// Whether this queue has made all its promises.
    pub fn queue_is_done(&self, queue: &QueueName) -> bool {
        let Some(policy) = self.queues.get(queue) else { return true };
        let made = self.heads.get(queue).map_or(0, |(_, made)| *made);
        policy.backfill.depth > 0 && made >= policy.backfill.depth
    }

    /// Where a job looks for room, for this shape.
    pub fn node_search_of<'h>(
        &'h self,
        job: &'h WaitingJob,
        shape: &'h Shape<'h>,
        placing: Placing,
        avoid: &'h [bool],
    ) -> NodeSearch<'h> {
        NodeSearch {
            trial: &self.trial,
            shape,
            bookings: &self.bookings,
            reservation: job.reservation.as_ref(),
            now: self.now,
            ends: self.ends_by(job.time_limit),
            side: placing.side,
            placement: placing.placement,
            avoid,
        }
    }

    /// Where a job looks for room.
    pub fn node_search<'h>(
        &'h self,
        job: &'h WaitingJob,
        shape: ShapeIndex,
        placing: Placing,
        avoid: &'h [bool],
    ) -> NodeSearch<'h> {
        self.node_search_of(job, self.shapes.get(shape), placing, avoid)
    }

    /// Step 8, and the end of the round.
    pub fn finish(mut self) -> Round {
        for key in std::mem::take(&mut self.unmet) {
            self.planned_starts.remove(&key);
        }
        // Once a kept promise has passed, others may have its nodes, so another round is due then.
        // A promise that was moved needs none: without a change, another round would only move
        // promises again.
        let is_kept = |(key, planned_start): &(&JobKey, &PlannedStart)| {
            let is_pinned = !planned_start.nodes.is_empty() && !planned_start.yielded;
            is_pinned && self.snapshot.planned_starts.get(key) == Some(*planned_start)
        };
        let kept =
            self.planned_starts.iter().filter(is_kept).map(|(_, planned_start)| planned_start.at);
        let next = kept.filter(|at| *at >= self.now).min();
        self.schedule_next_round(next.map(|at| at + Span(1)));
        let waits = std::mem::take(&mut self.waits);
        // The next round needs the reasons if it continues this one.
        let is_silent = self.snapshot.is_silent && !self.searches.are_needed();
        let mut waits = if is_silent { waits } else { explain::explain(waits, &self) };
        self.tell_awaiting(&mut waits);
        let resume_cursor = self.resume_cursor(&waits);
        if self.ran_out() {
            self.schedule_next_round(Some(self.now));
        }
        if resume_cursor.is_dropped {
            self.schedule_next_round(Some(self.now + DROPPED_LOOK));
        }
        Round {
            full: self.what_is_full(),
            decisions: self.decisions,
            planned_starts: self.planned_starts,
            resume_cursor,
            searches: Cost(self.trial.searched.get()),
            waits,
            next_look: self.next_look,
        }
    }
}

/// What fragmentation is measured against, if any queue places by it.
fn yardsticks(snapshot: &Snapshot) -> Arc<Yardsticks> {
    if !snapshot.policy.queues.iter().any(|queue| queue.placement == Placement::Fgd) {
        return Arc::default();
    }
    if let Some(typical) = &snapshot.typical {
        return typical.clone();
    }
    let classes = snapshot.wait_queue.classes().filter_map(|(_, class)| {
        let first = class.jobs().next()?;
        Some((&*first.request, class.len()))
    });
    Arc::new(Yardsticks::of(&snapshot.cluster, crate::model::typical::typical(classes)))
}
