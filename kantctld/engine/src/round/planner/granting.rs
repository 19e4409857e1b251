//! Carries out the decisions of a fair round if they hold in every detail: starts, and rooms for
//! which other jobs are preempted. `fair` chooses the jobs.
//!
//! A fair round counts CPUs, memory and devices. The exact place is found here, with cores, links,
//! bookings, limits and what is kept for others. A decision that does not hold is dropped.

use super::RoundState;
use super::leaving::Victim;
use super::start::Obstacle;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::QuotaStatus;
use crate::place::backfill::earliest::Window;
use crate::place::fit::gang::{Layout, lay_out};
use crate::place::placing::{Placed, filled_in};
use crate::policy::admit::Refused;
use common::id::JobKey;
use common::policy::queue::Queue;
use common::reason::WaitReason;
use common::unit::Tasks;
use std::sync::Arc;

impl<'a> RoundState<'a> {
    /// The shape of a job.
    pub(crate) fn shape_for(&mut self, queue: &'a Queue, job: &'a Arc<WaitingJob>) -> ShapeIndex {
        self.shape_of(queue, job)
    }

    /// Whether the job may start at all now, whatever is free.
    pub(crate) fn may_start_at_all(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
    ) -> Result<QuotaStatus, Refused> {
        let admitted = self.admit(job, shape);
        if let Err(Refused::Job(reason) | Refused::Class(reason)) = &admitted {
            self.eases_with_time(reason);
        }
        admitted
    }

    /// The nodes that are kept for a job until its victims are gone. Empty: none are.
    pub(crate) fn room_kept_for(&self, key: JobKey) -> &[NodeIndex] {
        self.awaiting.get(&key).map_or(&[], |awaiting| &awaiting.nodes)
    }

    /// The same nodes, one for each part or each task.
    pub(crate) fn seats_kept_for(&self, key: JobKey) -> &[NodeIndex] {
        self.awaiting.get(&key).map_or(&[], |awaiting| &awaiting.seats)
    }

    /// Whether this node has room now for the smallest part of the job.
    pub(crate) fn would_hold(&self, job: &WaitingJob, index: ShapeIndex, at: NodeIndex) -> bool {
        let shape = self.shapes.get(index);
        let demand = &shape.demand;
        let part = shape.nodes().map_or_else(
            || demand.part(Tasks(1)),
            |nodes| demand.even_part(nodes, nodes.0.saturating_sub(1)),
        );
        let holds = |side| self.node_search_of(job, shape, side, &[]).holds(at, part);
        shape.sides().into_iter().any(holds)
    }

    /// Starts a job on these nodes, or elsewhere if requirements other than room exclude them.
    /// `most`: the most tasks it gets.
    ///
    /// # Errors
    /// It did not start; the reason, unless that is a lack of room.
    pub(crate) fn start_there(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        (nodes, most): (&[NodeIndex], Option<Tasks>),
    ) -> Result<(), Option<WaitReason>> {
        self.meet(job.key);
        let fence = self.fence(nodes);
        let started = self.try_start_with(job, shape, &fence, most);
        match started.or_else(|_| self.try_start_with(job, shape, &[], most)) {
            Ok(()) => Ok(()),
            Err(Obstacle::Refused(reason, _)) => Err(Some(*reason)),
            Err(_) => Err(None),
        }
    }

    /// Starts a job wherever it has room. `most`: the most tasks it gets.
    ///
    /// # Errors
    /// It did not start; the reason, unless that is a lack of room.
    pub(crate) fn start_anywhere(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        most: Option<Tasks>,
    ) -> Result<(), Option<WaitReason>> {
        let ends = self.ends_by(job.time_limit);
        if self.shapes.get(shape).cannot_fit(ends) {
            return Err(None);
        }
        let room = self.shapes.room_of(shape);
        if self.full.contains(&room) {
            self.shapes.get_mut(shape).did_not_fit(ends);
            return Err(None);
        }
        match self.try_start_with(job, shape, &[], most) {
            Ok(()) => Ok(()),
            Err(Obstacle::NoRoom) => {
                self.shapes.get_mut(shape).did_not_fit(ends);
                self.full.insert(room);
                Err(None)
            }
            Err(Obstacle::Refused(reason, _)) => Err(Some(*reason)),
            Err(_) => Err(None),
        }
    }

    /// Keeps the promises of earlier rounds, even against jobs whose turn comes first.
    pub(crate) fn honour_planned_starts(&mut self) {
        self.unmet.clear();
    }

    /// Whether nodes are kept for a job for later.
    pub(crate) fn has_planned_start(&self, key: JobKey) -> bool {
        let planned_start = self.planned_starts.get(&key);
        planned_start
            .is_some_and(|planned_start| !planned_start.nodes.is_empty() && !planned_start.yielded)
    }

    /// Keeps nodes for a job without room, from the time when it will have some.
    pub(crate) fn keep_for_later(&mut self, job: &'a Arc<WaitingJob>, shape: ShapeIndex) {
        let found = self.earliest_admitted(job, shape, Window { after: self.now, by: None });
        if let Some(found) = found.filter(|(earliest, _)| earliest.at > self.now) {
            let at = found.0.at;
            self.keep_nodes(job, shape, &found);
            self.add_future_claim(job, shape, at);
        }
    }

    /// Frees what was kept for a job.
    pub(crate) fn give_up(&mut self, key: JobKey) {
        self.unbook(key);
        self.planned_starts.remove(&key);
    }

    /// Nodes on which something is kept for later.
    pub(crate) fn booked_nodes(&self) -> Vec<NodeIndex> {
        let nodes = self.trial.cluster.nodes().map(|(at, _)| at);
        nodes.filter(|at| !self.bookings.on(*at).is_empty()).collect()
    }

    /// Starts all components of a set, or none. `with_fewest`: elastic components get only their
    /// minimum of tasks.
    pub(crate) fn start_components(&mut self, first: JobKey, with_fewest: bool) {
        _ = self.start_together(first, false, with_fewest);
    }

    /// Preempts these jobs, and keeps the room for the job. None is preempted if the job would have
    /// no room then, or would not be admitted. Returns whether they are preempted.
    pub(crate) fn take_for(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        victims: &[Victim<'a>],
        nodes: &[NodeIndex],
    ) -> bool {
        let shape = self.shapes.get(index).fewest().into_owned();
        let own = self.unbook(job.key);
        let taken = self.takes_for(job, index, &shape, victims, nodes);
        if let Some(own) = own.filter(|_| !taken) {
            self.book_again(job.key, own);
        }
        taken
    }

    /// The same, after the job's own bookings were removed.
    fn takes_for(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        shape: &Shape<'a>,
        victims: &[Victim<'a>],
        nodes: &[NodeIndex],
    ) -> bool {
        let checkpoint = self.trial.checkpoint();
        // Only these nodes are considered, so it does not matter which jobs leave them.
        self.clear(nodes, victims);
        let fence = self.fence(nodes);
        let found = self.find(job, shape, &fence);
        self.trial.roll_back(checkpoint);
        let Some((layout, placed)) = found else { return false };
        let shares = placed.shares.iter();
        let claim =
            crate::model::claims::of_start(job, shares, self.trial.cluster, &mut self.accounting);
        let mut accounting = self.accounting.clone();
        for victim in victims {
            if let Some(claim) = self.claim_given_up(victim) {
                accounting.remove(&claim, victim.job.ends_by);
            }
        }
        let limits = accounting.check_limits(&claim, job.time_limit, self.now);
        if limits.and_then(|()| accounting.admit(&claim)).is_err() {
            return false;
        }
        victims.iter().for_each(|victim| self.yields(victim, job.key));
        self.keep_room(job, index, shape, layout, claim);
        true
    }

    pub(crate) fn find(
        &self,
        job: &WaitingJob,
        shape: &Shape<'a>,
        fence: &[bool],
    ) -> Option<(Layout, Placed)> {
        shape.sides().into_iter().find_map(|side| {
            let search = self.node_search_of(job, shape, side, fence);
            let layout = lay_out(&search)?;
            Some((layout.clone(), filled_in(&search, layout)))
        })
    }

    /// Notes a job that may start and has no room.
    pub(crate) fn has_no_room(&mut self, job: &WaitingJob, shape: ShapeIndex) {
        match self.never_fits(shape) {
            Some(never) => self.waits.tell(job.key, never),
            None => self.waits.note(job.key, shape, None),
        }
    }

    /// Notes a job that does not start, whatever is free.
    pub(crate) fn is_refused(&mut self, key: JobKey, reason: WaitReason) {
        self.waits.tell(key, reason);
    }
}
