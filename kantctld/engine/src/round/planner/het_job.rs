//! Sets: all components of a job start in one round, or none.
//! Source: Slurm, "Heterogeneous Job Support": all components are started at the same time.
//! A component that is held, or whose begin time has not come, keeps the others waiting.
//!
//! Where a set prefers its nodes near to each other, it is tried below each switch first.
//!
//! Example. Nodes a (GPUs) and b (CPUs). Job 1 has two components: 1 asks for a GPU, 2 for 4 CPUs
//! without a GPU; both start. If b were in use, neither would.

use super::RoundState;
use super::reserve::Booked;
use super::start::Obstacle;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::PlannedStart;
use crate::place::fit::near;
use crate::policy::admit::Refused;
use crate::policy::queue_scan::Next;
use common::id::JobKey;
use common::policy::Behind;
use common::reason::WaitReason;
use common::unit::Tasks;
use std::sync::Arc;

/// The component that did not start, its shape if its queue exists, and why.
pub(super) type Failed<'a> = (&'a Arc<WaitingJob>, Option<ShapeIndex>, Obstacle);

impl<'a> RoundState<'a> {
    /// Starts all components, or none. All of them have had their turn afterwards. `is_known`:
    /// nothing that matters to this component has changed since the last attempt. `with_fewest`:
    /// elastic components get only their minimum of tasks.
    pub(super) fn start_together(
        &mut self,
        first: JobKey,
        is_known: bool,
        with_fewest: bool,
    ) -> Next {
        let components: Vec<_> = self.snapshot.wait_queue.components_with(first).collect();
        let is_parked = |one: &&&Arc<WaitingJob>| self.snapshot.class_of(one.key).is_none();
        if let Some(parked) = components.iter().find(is_parked) {
            for component in components.iter().filter(|one| !is_parked(one)) {
                self.waits.set_reason(component.key, WaitReason::Component { key: parked.key });
            }
            return Next::MayTry;
        }
        if self.note_if_never_fits(&components) || is_known && self.repeat_together(&components) {
            return Next::MayTry;
        }
        if components.iter().any(|one| self.awaiting.contains_key(&one.key)) {
            // Other jobs make room for them. Whether they fit by now was tried before all turns.
            self.note_no_room_all(&components);
            return Next::MayTry;
        }
        let most = |one: &&Arc<WaitingJob>| one.request.tasks_min.filter(|_| with_fewest);
        let near = components.first().and_then(|one| one.near_all);
        let mut failed = None;
        let snapshot = self.snapshot;
        for fence in near::fences(&snapshot.cluster, near) {
            let places: Vec<_> = components.iter().map(|one| (fence.clone(), most(one))).collect();
            match self.start_all(&components, &places) {
                Ok(()) => return Next::MayTry,
                Err(why) => failed = Some(*why),
            }
        }
        match failed {
            Some((component, shape, obstacle)) => {
                self.note_failure_all(&components, component, shape, obstacle);
            }
            // The required nearness excludes all nodes.
            None => self.note_no_room_all(&components),
        }
        Next::MayTry
    }

    /// Starts all components, or none. Each avoids the nodes behind its fence, and has at most the
    /// given number of tasks.
    ///
    /// # Errors
    /// The component that could not start, and why.
    pub(super) fn start_all(
        &mut self,
        components: &[&'a Arc<WaitingJob>],
        places: &[(Vec<bool>, Option<Tasks>)],
    ) -> Result<(), Box<Failed<'a>>> {
        let checkpoint = self.trial.checkpoint();
        let (accounting, arrays) = (self.accounting.clone(), self.arrays.clone());
        let (claims, started) = (self.future_claims.clone(), self.started.len());
        let decided = self.decisions.len();
        let kept: Vec<_> = components.iter().filter_map(|one| self.plan_of(one.key)).collect();
        for component in components {
            self.unmet.remove(&component.key);
        }
        for (component, place) in components.iter().copied().zip(places) {
            if let Err(failed) = self.start_component(component, place) {
                let (shape, obstacle) = *failed;
                // Note what the components before it got: their limits are checked against that.
                let got = components.iter().zip(&self.started[started..]);
                for (other, (claim, _)) in got {
                    self.priced.entry(other.key).or_insert_with(|| claim.clone());
                }
                self.trial.roll_back(checkpoint);
                (self.accounting, self.arrays, self.future_claims) = (accounting, arrays, claims);
                self.started.truncate(started);
                let undone = self.decisions.split_off(decided);
                // Shadows were updated with the components in place; update them again.
                self.update_shadows(&self.nodes_of(&undone), NEVER);
                self.waits.forget_starts(components.iter().map(|component| component.key));
                kept.into_iter().for_each(|(key, start, own)| self.restore_plan(key, start, own));
                return Err(Box::new((component, shape, obstacle)));
            }
        }
        self.trial.commit(checkpoint);
        Ok(())
    }

    /// Notes for all components that there is no room.
    fn note_no_room_all(&mut self, components: &[&'a Arc<WaitingJob>]) {
        for component in components.iter().copied() {
            let Some(queue) = self.queues.get(&component.queue) else { continue };
            let shape = self.shape_of(queue, component);
            self.note_no_room(component, shape);
        }
    }

    /// If one component could never have room, sets the reason of all and returns true. They keep
    /// no other job waiting.
    fn note_if_never_fits(&mut self, components: &[&'a Arc<WaitingJob>]) -> bool {
        for component in components.iter().copied() {
            let Some(queue) = self.queues.get(&component.queue) else { continue };
            let shape = self.shape_of(queue, component);
            let Some(never) = self.never_fits_reason(shape) else { continue };
            for other in components {
                self.waits.set_reason(other.key, WaitReason::Component { key: component.key });
            }
            self.waits.set_reason(component.key, never);
            return true;
        }
        false
    }

    /// The nodes of these starts.
    fn nodes_of(&self, starts: &[Decision]) -> Vec<NodeIndex> {
        let shares = starts.iter().flat_map(|decision| match decision {
            Decision::Start { allocation, .. } => allocation.shares(),
            Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => &[],
        });
        shares.filter_map(|share| self.trial.cluster.find(&share.node)).collect()
    }

    fn start_component(
        &mut self,
        job: &'a Arc<WaitingJob>,
        (fence, most): &(Vec<bool>, Option<Tasks>),
    ) -> Result<(), Box<(Option<ShapeIndex>, Obstacle)>> {
        let Some(queue) = self.queues.get(&job.queue) else {
            let reason = WaitReason::QueueGone { queue: job.queue.clone() };
            return Err(Box::new((None, Obstacle::Refused(Box::new(reason), Vec::new()))));
        };
        let shape = self.shapes.for_job(&self.snapshot.cluster, &self.snapshot.policy, queue, job);
        if let Err(Refused::Job(reason) | Refused::Class(reason)) = self.admit(job, shape) {
            let obstacle = Obstacle::Refused(Box::new(reason), Vec::new());
            return Err(Box::new((Some(shape), obstacle)));
        }
        self.searches.count();
        self.try_start_with(job, shape, fence, *most)
            .map_err(|obstacle| Box::new((Some(shape), obstacle)))
    }

    fn note_failure_all(
        &mut self,
        components: &[&'a Arc<WaitingJob>],
        failed: &'a Arc<WaitingJob>,
        shape: Option<ShapeIndex>,
        obstacle: Obstacle,
    ) {
        for component in components {
            self.searches.without_success(component.key, None, false);
            match (&obstacle, shape) {
                (Obstacle::Refused(reason, _), _) => {
                    self.waits.set_reason(component.key, (**reason).clone());
                }
                (Obstacle::Claimed(other), Some(shape)) => {
                    self.waits.note_no_room(component.key, shape, Some(*other));
                }
                (Obstacle::Kept(other), Some(shape)) => {
                    self.waits.note_no_room(component.key, shape, *other);
                }
                (_, Some(shape)) => self.waits.note_no_room(component.key, shape, None),
                (_, None) => self.waits.set_reason(component.key, WaitReason::NotConsidered),
            }
        }
        let Some(queue) = self.queues.get(&failed.queue) else { return };
        match (&obstacle, shape) {
            (Obstacle::Refused(reason, _), Some(shape)) => {
                if queue.behind == Behind::Wait
                    && self.blocks_queue_for_quota(queue, failed, shape, reason)
                {
                    self.heads.entry(&queue.name).or_insert((failed.key, 0));
                }
            }
            (_, Some(_)) => {
                self.searches.without_success(failed.key, None, true);
                self.reserve_together(queue, failed, components);
            }
            (_, None) => {}
        }
    }

    /// A job's promise and bookings.
    pub(super) fn plan_of(&self, key: JobKey) -> Option<(JobKey, PlannedStart, Option<Booked>)> {
        let planned_start = self.planned_starts.get(&key)?.clone();
        Some((key, planned_start, self.bookings_of(key)))
    }

    /// Restores a promise and its bookings if they were removed since.
    pub(super) fn restore_plan(
        &mut self,
        key: JobKey,
        planned_start: PlannedStart,
        own: Option<Booked>,
    ) {
        if self.planned_starts.contains_key(&key) {
            return;
        }
        self.planned_starts.insert(key, planned_start);
        if let Some(own) = own {
            self.book_again(key, own);
        }
    }
}
