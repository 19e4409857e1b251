//! What fair sharing (`fair_share`) asks of the state of a round: to start a job, to find places,
//! to keep nodes for later. Places hold in every detail, with cores, links, bookings, limits and
//! what is kept for others.

use super::RoundState;
use super::start::Obstacle;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::{RoomIndex, ShapeIndex};
use crate::place::backfill::earliest::Window;
use crate::place::fit::gang::{Layout, lay_out};
use crate::place::placing::{Placed, with_chosen_devices};
use crate::policy::admit::{Refused, admit};
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
    ) -> Result<(), Refused> {
        if !self.snapshot.may_refuse {
            return admit(job, self.snapshot, &self.arrays, self.now);
        }
        let admitted = self.admit(job, shape);
        if let Err(Refused::Job(reason) | Refused::Class(reason)) = &admitted {
            self.eases_with_time(reason);
        }
        admitted.map(drop)
    }

    /// Whether the job may start now if its queue held less, whatever is free.
    pub(crate) fn may_start_within_quota(&mut self, job: &WaitingJob, shape: ShapeIndex) -> bool {
        self.admit_but_for_quota(job, shape).is_ok()
    }

    /// The nodes that are kept for a job until its victims are gone. Empty: none are.
    pub(crate) fn room_kept_for(&self, key: JobKey) -> &[NodeIndex] {
        self.awaiting.get(&key).map_or(&[], |awaiting| &awaiting.nodes)
    }

    /// Whether this room is known to be full, even without what is kept for others.
    pub(crate) fn is_room_full(&self, room: RoomIndex) -> bool {
        self.full.contains(&room)
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
        if self.shapes.cannot_fit(shape, ends) {
            return Err(None);
        }
        let room = self.shapes.room_of(shape);
        if self.full.contains(&room) {
            self.shapes.note_no_fit(shape, ends);
            return Err(None);
        }
        match self.try_start_with(job, shape, &[], most) {
            Ok(()) => Ok(()),
            Err(Obstacle::NoRoom) => {
                self.shapes.note_no_fit(shape, ends);
                self.full.insert(room);
                Err(None)
            }
            Err(Obstacle::Refused(reason, _)) => Err(Some(*reason)),
            Err(_) => Err(None),
        }
    }

    /// Keeps the promises of earlier rounds, even against jobs whose turn comes first.
    pub(crate) fn protect_planned_starts(&mut self) {
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
        let found = self.earliest_start(job, shape, Window { after: self.now, by: None });
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

    /// Starts all components of a set, or none. `with_fewest`: elastic components get only their
    /// minimum of tasks.
    pub(crate) fn start_components(&mut self, first: JobKey, with_fewest: bool) {
        _ = self.start_together(first, false, with_fewest);
    }

    pub(crate) fn find_place(
        &self,
        job: &WaitingJob,
        shape: &Shape<'a>,
        fence: &[bool],
    ) -> Option<(Layout, Placed)> {
        shape.sides().into_iter().find_map(|side| {
            let search = self.node_search_of(job, shape, side, fence);
            let layout = lay_out(&search)?;
            Some((layout.clone(), with_chosen_devices(&search, layout)))
        })
    }

    /// Notes a job that may start and has no room.
    pub(crate) fn note_no_room(&mut self, job: &WaitingJob, shape: ShapeIndex) {
        match self.never_fits_reason(shape) {
            Some(never) => self.waits.set_reason(job.key, never),
            None => self.waits.note_no_room(job.key, shape, None),
        }
    }

    /// Notes a job that does not start, whatever is free.
    pub(crate) fn note_refusal(&mut self, key: JobKey, reason: WaitReason) {
        self.waits.set_reason(key, reason);
    }
}
