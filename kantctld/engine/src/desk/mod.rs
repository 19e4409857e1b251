//! The desk on which a round is worked out: what is free, what is kept, who was told what.
//! Never orders jobs; `queue_up` does.

mod gang;
mod reserve;
mod start;
mod yielding;

use crate::admit::{self, Arrays};
use crate::backfill::bookings::Bookings;
use crate::backfill::shadow::Shadow;
use crate::books::{Books, Claim, Standing};
use crate::decision::Decision;
use crate::fit::hall::{Hall, Side};
use crate::floor::node::NEVER;
use crate::line::UNLIMITED;
use crate::preempt::Asks;
use crate::queue_up::{Next, Turn};
use crate::round::{Round, TRIALS_MAX};
use crate::shape::{Shape, ShapeIndex, Shapes};
use crate::snapshot::{Promise, Snapshot, WaitingJob};
use crate::trial::Trial;
use crate::waits::Waits;
use common::id::{JobKey, QueueName};
use common::policy::{Behind, Order, Placement};
use common::queue::Queue;
use common::reason::{WaitReason, What};
use common::time::{Span, Time};
use common::unit::Nodes;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use yielding::Awaiting;

/// A job that has no room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRoom<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub shape: ShapeIndex,
    /// Would it be within its queue's quota?
    pub standing: Standing,
}

/// What lies on the desk.
pub(crate) struct Desk<'a> {
    pub snapshot: &'a Snapshot,
    pub now: Time,
    pub queues: BTreeMap<&'a QueueName, &'a Queue>,
    pub trial: Trial<'a>,
    pub shapes: Shapes<'a>,
    pub books: Books,
    pub arrays: Arrays,
    pub bookings: Bookings,
    pub shadows: Vec<(&'a QueueName, Shadow)>,
    /// The first job without room of each queue, and how many reservations the queue has made.
    pub heads: BTreeMap<&'a QueueName, (JobKey, u32)>,
    pub promises: BTreeMap<JobKey, Promise>,
    /// Jobs with kept promises whose turn has not come.
    unmet: BTreeSet<JobKey>,
    /// What is known about asking others to yield.
    pub asks: Asks,
    /// Jobs that room is kept for until others are gone.
    awaiting: BTreeMap<JobKey, Awaiting>,
    /// Jobs that others yield to: how many, and one of them.
    yielders: BTreeMap<JobKey, (u32, JobKey)>,
    pub waits: Waits,
    pub decisions: Vec<Decision>,
    pub next_look: Option<Time>,
    pub trials_left: u32,
    /// Components of jobs that start together, by their first.
    together: BTreeMap<JobKey, Vec<&'a Arc<WaitingJob>>>,
    /// The nodes that certain shadows count on, and when that was worked out.
    avoid: Option<(Vec<usize>, (usize, usize), Rc<Vec<bool>>)>,
}

impl<'a> Desk<'a> {
    pub fn new(snapshot: &'a Snapshot, now: Time) -> Self {
        let policy = &snapshot.policy;
        let mut together: BTreeMap<JobKey, Vec<&'a Arc<WaitingJob>>> = BTreeMap::new();
        let classes = snapshot.line.classes().filter(|_| snapshot.line.has_components());
        for (_, class) in classes {
            for job in class.jobs().take_while(|job| job.together.is_some()) {
                if let Some(first) = job.together {
                    together.entry(first).or_default().push(job);
                }
            }
        }
        let mut desk = Self {
            snapshot,
            now,
            queues: policy.queues.iter().map(|queue| (&queue.name, queue)).collect(),
            trial: Trial::of(&snapshot.floor),
            shapes: Shapes::new(typical(snapshot)),
            books: snapshot.books.clone(),
            arrays: Arrays::of(snapshot),
            bookings: Bookings::of(&snapshot.floor, snapshot.reservations.values(), now),
            shadows: Vec::new(),
            heads: BTreeMap::new(),
            promises: BTreeMap::new(),
            unmet: BTreeSet::new(),
            asks: Asks::default(),
            awaiting: BTreeMap::new(),
            yielders: BTreeMap::new(),
            waits: Waits::default(),
            decisions: Vec::new(),
            next_look: None,
            trials_left: TRIALS_MAX,
            together,
            avoid: None,
        };
        desk.look_again(snapshot.line.next_gate());
        for booking in snapshot.reservations.values() {
            desk.look_again(Some(booking.from).filter(|from| *from > now));
            desk.look_again(Some(booking.to).filter(|to| *to > now));
        }
        desk.keep_rooms();
        desk.keep_promises();
        desk
    }

    /// Another round is due by then.
    pub fn look_again(&mut self, at: Option<Time>) {
        self.next_look = self.next_look.into_iter().chain(at).min();
    }

    /// Steps 2 to 6 for one job.
    pub fn consider(&mut self, turn: &Turn<'a>) -> Next {
        let Some(awaiting) = self.set_aside(turn.job.key) else { return self.give_turn(turn) };
        let next = self.give_turn(turn);
        self.put_back(turn.job.key, awaiting);
        next
    }

    fn give_turn(&mut self, turn: &Turn<'a>) -> Next {
        let job = turn.job;
        if self.waits.is_told(job.key) {
            return Next::MayTry;
        }
        let Some(queue) = self.queues.get(&job.queue).copied() else {
            return self.class_waits(turn, WaitReason::QueueGone { queue: job.queue.clone() });
        };
        if queue.behind == Behind::Wait
            && let Some((head, _)) = self.heads.get(&queue.name)
        {
            let head = *head;
            return self.class_waits(turn, WaitReason::BehindHead { head });
        }
        // 2. Admit.
        let shape = self.shapes.of(&self.snapshot.floor, &self.snapshot.policy, queue, job);
        let standing = match self.admit(job, shape) {
            Ok(standing) => standing,
            Err(Refused::Job(reason)) => {
                self.waits.tell(job.key, reason);
                return Next::MayTry;
            }
            Err(Refused::Class(reason)) => return self.without_quota(turn, queue, shape, reason),
        };
        self.meet(job.key);
        let kept = self.promises.get(&job.key).filter(|promise| !promise.nodes.is_empty());
        let promised = kept.map(|promise| promise.at);
        if promised.is_some_and(|at| at > self.now) && !self.snapshot.is_looser {
            // Nothing came free sooner than it was promised.
            return self.without_room(turn, queue, NoRoom { job, shape, standing }, None);
        }
        if self.trials_left == 0 {
            self.look_again(Some(self.now));
            return self.class_waits(turn, WaitReason::NotConsidered);
        }
        if let Some(first) = job.together {
            return self.start_together(first, job);
        }
        // 3. Fit and 4. score, in what earlier jobs' reservations leave; 5. backfill.
        let ends = self.ends_by(job.time_limit);
        // What is kept for itself kept others of its shape off, but not it.
        if promised.is_none() && self.shapes.get(shape).cannot_fit(ends) {
            return self.without_room(turn, queue, NoRoom { job, shape, standing }, None);
        }
        self.trials_left -= 1;
        match self.try_start(job, shape, &[]) {
            Ok(()) => Next::MayTry,
            Err(start::Obstacle::Refused(reason)) => {
                // Nothing is kept for a job that may not have it.
                self.unbook(job.key);
                self.promises.remove(&job.key);
                self.waits.tell(job.key, reason);
                Next::MayTry
            }
            Err(start::Obstacle::NoRoom) => {
                // Nor would there be any if nothing were kept: not for a shorter one either, unless
                // others might yield to that.
                let asks = queue.preemption.by_priority
                    || (queue.preemption.reclaim && self.snapshot.has_bounds);
                self.shapes.get_mut(shape).did_not_fit(if asks { ends } else { self.now });
                self.without_room(turn, queue, NoRoom { job, shape, standing }, None)
            }
            Err(start::Obstacle::Kept(whom)) => {
                // What is kept depends on an end only by what begins before it: a shorter one of
                // its kind may pass, if it is over before the last of those.
                let since = self.last_kept_before(ends).map_or(self.now, |at| at + Span(1));
                self.shapes.get_mut(shape).did_not_fit(since);
                self.without_room(turn, queue, NoRoom { job, shape, standing }, whom)
            }
        }
    }

    /// The last time before `ends` at which what is kept for anybody changes.
    fn last_kept_before(&self, ends: Time) -> Option<Time> {
        let shadows = self.shadows.iter().map(|(_, shadow)| shadow.at).filter(|at| *at < ends);
        shadows.chain(self.bookings.last_before(ends)).max()
    }

    /// When a job that starts now ends by its time limit, at the latest.
    pub fn ends_by(&self, limit: Option<Span>) -> Time {
        limit.map_or(NEVER, |limit| self.now + limit)
    }

    /// Has this queue made all its reservations?
    pub fn queue_is_done(&self, queue: &QueueName) -> bool {
        let Some(policy) = self.queues.get(queue) else { return true };
        let made = self.heads.get(queue).map_or(0, |(_, made)| *made);
        policy.backfill.depth > 0 && made >= policy.backfill.depth
    }

    fn class_waits(&mut self, turn: &Turn<'a>, reason: WaitReason) -> Next {
        self.waits.tell_class(turn.class, reason);
        Next::ClassIsDone
    }

    /// Step 2: the static rules.
    fn admit(&mut self, job: &WaitingJob, shape: ShapeIndex) -> Result<Standing, Refused> {
        admit::admit(job, self.snapshot, &self.arrays, self.now)?;
        let claim = claim_of(job, self.shapes.get(shape), &mut self.books);
        if let Err(reason) = self.books.check_limits(&claim, job.time_limit, self.now) {
            // Bounds on what is still to be used loosen as time goes by.
            self.next_look =
                self.next_look.into_iter().chain([self.now + Span::from_minutes(1)]).min();
            // A shorter job of its class may be within a bound on GPU-minutes.
            let is_own = matches!(&reason, WaitReason::LimitReached { counted, .. }
                if counted.what == What::GpuMinutes);
            return Err(if is_own { Refused::Job(reason) } else { Refused::Class(reason) });
        }
        self.books.admit(&claim).map_err(Refused::Class)
    }

    /// A job that a limit or a quota keeps from starting: others may make way in its queue.
    fn without_quota(
        &mut self,
        turn: &Turn<'a>,
        queue: &'a Queue,
        shape: ShapeIndex,
        reason: WaitReason,
    ) -> Next {
        let no = NoRoom { job: turn.job, shape, standing: Standing::Borrowing };
        if matches!(reason, WaitReason::QuotaExceeded { .. }) && self.ask(queue, no, true) {
            return Next::MayTry;
        }
        self.class_waits(turn, reason)
    }

    /// Notes a job without room, and reserves for it where its queue does.
    fn without_room(
        &mut self,
        turn: &Turn<'a>,
        queue: &'a Queue,
        job: NoRoom<'a>,
        kept_for: Option<JobKey>,
    ) -> Next {
        self.heads.entry(&queue.name).or_insert((job.job.key, 0));
        // 6. Preempt; or else 5. backfill.
        let reserved = self.ask(queue, job, false)
            || (queue.behind == Behind::Backfill
                && !self.queue_is_done(&queue.name)
                && self.reserve(queue, job.job, job.shape));
        if reserved {
            if let Some((_, made)) = self.heads.get_mut(&queue.name) {
                *made += 1;
            }
        } else {
            let kind = self.snapshot.line.kind_of(turn.kind);
            let shortest = kind.map_or(UNLIMITED, crate::line::Kind::limit_min);
            let ends = self.ends_by(Some(shortest).filter(|limit| *limit < UNLIMITED));
            let all_done = queue.behind != Behind::Backfill || self.queue_is_done(&queue.name);
            if all_done && self.shapes.get(job.shape).cannot_fit(ends) {
                self.waits.note_kind(turn.kind, job.shape, kept_for);
                // Where age may go before priority, those behind it may ask others to yield.
                let may_ask =
                    queue.preemption.by_priority && queue.order == Order::Multifactor;
                return if may_ask { Next::ClassIsDone } else { Next::KindIsDone };
            }
            if all_done && let Some(limit) = self.shapes.get(job.shape).fits_below(self.now) {
                self.waits.note_kind(turn.kind, job.shape, kept_for);
                return Next::Shorter(limit);
            }
        }
        self.waits.note(job.job.key, job.shape, kept_for);
        Next::MayTry
    }

    /// Where a job looks for room.
    pub fn hall_of<'h>(
        &'h self,
        job: &'h WaitingJob,
        shape: &'h Shape<'h>,
        (side, placement): (Side, Placement),
        avoid: &'h [bool],
    ) -> Hall<'h> {
        Hall {
            trial: &self.trial,
            shape,
            bookings: &self.bookings,
            reservation: job.reservation.as_ref(),
            now: self.now,
            ends: self.ends_by(job.time_limit),
            side,
            placement,
            avoid,
        }
    }

    /// Where a job looks for room.
    pub fn hall<'h>(
        &'h self,
        job: &'h WaitingJob,
        shape: ShapeIndex,
        (side, placement): (Side, Placement),
        avoid: &'h [bool],
    ) -> Hall<'h> {
        self.hall_of(job, self.shapes.get(shape), (side, placement), avoid)
    }

    /// Step 7, and the end.
    pub fn finish(mut self) -> Round {
        for key in std::mem::take(&mut self.unmet) {
            self.promises.remove(&key);
        }
        let waits = std::mem::take(&mut self.waits);
        let mut waits = crate::wait::explain(waits, &self);
        self.tell_awaiting(&mut waits);
        Round {
            decisions: self.decisions,
            promises: self.promises,
            waits,
            next_look: self.next_look,
        }
    }
}

/// What a waiting job asks for; an elastic one at least.
fn claim_of(job: &WaitingJob, shape: &Shape<'_>, books: &mut Books) -> Claim {
    let nodes = shape.nodes().unwrap_or(Nodes(1));
    let demand = match job.request.tasks_min {
        Some(tasks) => shape.demand.with_tasks(tasks),
        None => shape.demand,
    };
    crate::claims::of_waiting(job, &demand, nodes, books)
}

/// Why a job is not admitted by limits or quota, beside the jobs that run; `None`: it is.
pub(crate) fn not_admitted(snapshot: &Snapshot, job: &WaitingJob) -> Option<WaitReason> {
    if !snapshot.has_bounds {
        return None;
    }
    let queue = snapshot.policy.queues.iter().find(|queue| queue.name == job.queue)?;
    let (floor, policy) = (&snapshot.floor, &snapshot.policy);
    let shape = Shape::new(floor, policy, queue, &job.request, job.service, Rc::default());
    let mut books = snapshot.books.clone();
    let claim = claim_of(job, &shape, &mut books);
    let now = snapshot.ranked_at.unwrap_or_default();
    books.check_limits(&claim, job.time_limit, now).and_then(|()| books.admit(&claim).map(drop)).err()
}

/// Why a job is not admitted: for a reason of its own, or of all of its class.
pub(crate) enum Refused {
    /// Its own.
    Job(WaitReason),
    /// Of all alike.
    Class(WaitReason),
}

/// What fragmentation is measured against, where any queue asks for that.
fn typical(snapshot: &Snapshot) -> Rc<Vec<crate::typical::Typical>> {
    if !snapshot.policy.queues.iter().any(|queue| queue.placement == Placement::Fgd) {
        return Rc::default();
    }
    if let Some(typical) = &snapshot.typical {
        return Rc::new(typical.to_vec());
    }
    let classes = snapshot.line.classes().filter_map(|(_, class)| {
        let first = class.jobs().next()?;
        Some((&*first.request, class.len()))
    });
    Rc::new(crate::typical::typical(classes))
}
