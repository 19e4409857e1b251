//! Starting one job: a place, its shares taken, and nobody's reservation hurt. Never looks at the
//! order.

use super::Desk;
use crate::backfill::shadow::Shadow;
use crate::decision::Decision;
use crate::fit::hall::{Hall, Side};
use crate::floor::NodeIndex;
use crate::floor::node::Holder;
use crate::place::{Placed, place};
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::WaitingJob;
use common::id::JobKey;
use common::policy::Placement;
use common::reason::WaitReason;
use common::time::Time;
use common::unit::Tasks;
use std::rc::Rc;
use std::sync::Arc;

/// Why a job that may start did not.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Too little is free.
    NoRoom,
    /// Enough is free, and kept for this job, or for a reservation or several jobs.
    Kept(Option<JobKey>),
    /// With the GPUs it would get, a quota speaks against it.
    Refused(WaitReason),
    /// A job that was promised a start would not be admitted then.
    Pledged(JobKey),
}

impl<'a> Desk<'a> {
    /// Gives the job all of its shares, or nothing; none behind the fence.
    pub(super) fn try_start(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        fence: &[bool],
    ) -> Result<(), Obstacle> {
        let own = self.unbook(job.key);
        let whole = self.shapes.get(shape).clone();
        let mut found = self.try_shape(job, &whole, fence);
        if let (Err(_), Some(least)) = (&found, job.request.tasks_min) {
            found = self.try_fewer(job, &whole, least, fence);
        }
        if found.is_err()
            && let Some(own) = own
        {
            self.book_again(job.key, own);
        }
        found
    }

    /// An elastic job takes as many tasks as have room, at least so many.
    fn try_fewer(
        &mut self,
        job: &'a Arc<WaitingJob>,
        whole: &Shape<'a>,
        least: Tasks,
        fence: &[bool],
    ) -> Result<(), Obstacle> {
        let with = |tasks: u32| {
            let mut shape = whole.clone();
            shape.demand = shape.demand.with_tasks(Tasks(tasks));
            shape
        };
        let holds = |desk: &Self, tasks: u32| {
            let shape = with(tasks);
            shape
                .sides()
                .into_iter()
                .any(|side| place(&desk.hall_of(job, &shape, side, fence)).is_some())
        };
        let (mut fits, mut too_many) = (least.0.max(1), whole.demand.tasks.0);
        if !holds(self, fits) {
            // Whether that is for want of room or because some is kept was not asked.
            let is_open = self.bookings.is_empty() && self.shadows.is_empty();
            return Err(if is_open { Obstacle::NoRoom } else { Obstacle::Kept(None) });
        }
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if holds(self, middle) {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        self.try_shape(job, &with(fits), fence)
    }

    fn try_shape(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: &Shape<'a>,
        fence: &[bool],
    ) -> Result<(), Obstacle> {
        let mut obstacle = Obstacle::NoRoom;
        for side in shape.sides() {
            let Some(placed) = place(&self.hall_of(job, shape, side, fence)) else { continue };
            let hurt = match self.settle(job, placed)? {
                None => return Ok(()),
                Some(hurt) => hurt,
            };
            // Elsewhere it might hurt nobody: off the nodes that those who are hurt count on.
            let avoid = self.counted_on(&hurt);
            if let Some(placed) = place(&self.hall_of(job, shape, side, &avoid))
                && self.settle(job, placed)?.is_none()
            {
                return Ok(());
            }
            obstacle = Obstacle::Kept(hurt.first().map(|which| self.shadows[*which].1.key));
        }
        if matches!(obstacle, Obstacle::NoRoom) && !self.bookings.is_empty() {
            let nothing = crate::backfill::bookings::Bookings::default();
            let is_there = shape.sides().into_iter().any(|side| {
                let hall = Hall {
                    bookings: &nothing,
                    reservation: None,
                    ..self.hall_of(job, shape, side, &[])
                };
                crate::fit::gang::lay_out(&hall).is_some()
            });
            if is_there {
                obstacle = Obstacle::Kept(None);
            }
        }
        Err(obstacle)
    }

    /// The nodes that these shadows count on, by position; known until another job starts.
    fn counted_on(&mut self, shadows: &[usize]) -> Rc<Vec<bool>> {
        let version = (self.decisions.len(), self.shadows.len());
        if let Some((known, at, avoid)) = &self.avoid
            && known == shadows
            && *at == version
        {
            return avoid.clone();
        }
        let mut avoid = vec![false; self.trial.floor.len()];
        for which in shadows {
            self.shadows[*which].1.mark(&mut avoid);
        }
        let avoid = Rc::new(avoid);
        self.avoid = Some((shadows.to_vec(), version, avoid.clone()));
        avoid
    }

    /// Takes the shares. `Some`: that hurts these shadows, and nothing was taken.
    fn settle(
        &mut self,
        job: &'a Arc<WaitingJob>,
        placed: Placed,
    ) -> Result<Option<Vec<usize>>, Obstacle> {
        let ends = self.ends_by(job.time_limit);
        let checkpoint = self.trial.checkpoint();
        let nodes: Vec<NodeIndex> = placed.shares.iter().map(|(at, _)| *at).collect();
        let group: Option<Arc<str>> =
            job.request.per_node_max.as_ref().map(|most| most.group.as_str().into());
        for (at, share) in &placed.shares {
            let holder = Holder {
                key: job.key,
                until: ends,
                share: share.clone(),
                whole_node: job.request.exclusive,
                group: group.clone(),
            };
            self.trial.take(*at, Arc::new(holder));
        }
        let hurt = self.hurt(&nodes, ends);
        if !hurt.is_empty() {
            self.trial.roll_back(checkpoint);
            self.look(&nodes, ends);
            return Ok(Some(hurt));
        }
        let shares = placed.shares.iter().map(|(_, share)| share);
        let claim = crate::claims::of_start(job, shares, self.trial.floor, &mut self.books);
        // Whole cores and whole nodes may be more than was asked for.
        let limits = self.books.check_limits(&claim, job.time_limit, self.now);
        let admitted = limits.and_then(|()| self.books.admit(&claim));
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        if admitted.is_ok()
            && let Some(whom) = self.broken_pledge(job.key, &claim, (self.now, ends_by))
        {
            self.trial.roll_back(checkpoint);
            self.look(&nodes, ends);
            return Err(Obstacle::Pledged(whom));
        }
        let allocation = match (admitted, placed.allocation()) {
            (Ok(_), Ok(allocation)) => allocation,
            (refused, _) => {
                self.trial.roll_back(checkpoint);
                self.look(&nodes, ends);
                let reason = refused.err().unwrap_or(WaitReason::NotConsidered);
                return Err(Obstacle::Refused(reason));
            }
        };
        self.trial.keep(checkpoint);
        self.books.add(&claim, ends_by);
        self.note_start(claim, ends_by);
        self.arrays.count(job);
        self.promises.remove(&job.key);
        self.waits.start(job.key);
        self.decisions.push(Decision::Start {
            key: job.key,
            attempt: job.attempt,
            allocation,
            group: job.together,
        });
        Ok(None)
    }

    /// Which shadows no longer stand, now that a job that ends then is on these nodes.
    pub fn hurt(&mut self, nodes: &[NodeIndex], ends: Time) -> Vec<usize> {
        self.look(nodes, ends);
        let stands = |(which, (_, shadow)): (usize, &(_, Shadow))| {
            (ends > shadow.at && !shadow.stands()).then_some(which)
        };
        self.shadows.iter().enumerate().filter_map(stands).collect()
    }

    /// Lets shadows that reach beyond that time look at these nodes again.
    pub fn look(&mut self, nodes: &[NodeIndex], ends: Time) {
        for which in 0..self.shadows.len() {
            let shadow = &self.shadows[which].1;
            let Some(job) = self.snapshot.waiting(shadow.key).filter(|_| ends > shadow.at) else {
                continue;
            };
            let shape = self.shapes.get(shadow.shape);
            let side = shape.sides().first().copied().unwrap_or((Side::Outside, Placement::First));
            let hall = Hall {
                trial: &self.trial,
                shape,
                bookings: &self.bookings,
                reservation: job.reservation.as_ref(),
                now: self.now,
                ends: self.now,
                side: side.0,
                placement: side.1,
                avoid: &[],
            };
            let shadow = &mut self.shadows[which].1;
            nodes.iter().for_each(|at| shadow.look(&hall, *at));
        }
    }
}
