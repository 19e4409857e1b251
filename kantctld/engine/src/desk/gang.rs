//! Jobs of several components: all of them start in one round, or none. Never starts a part.
//!
//! Source: Slurm, "Heterogeneous Job Support": all components are started at the same time.
//!
//! One that is held, or whose time has not come, keeps the others waiting.
//!
//! Example. Nodes a (GPUs) and b (CPUs). Job 1 has two components: 1 asks for a GPU, 2 for 4 CPUs
//! without any; both start. Were b in use, neither would.

use super::Desk;
use super::start::Obstacle;
use crate::decision::Decision;
use crate::floor::NodeIndex;
use crate::floor::node::NEVER;
use crate::queue_up::Next;
use crate::shape::ShapeIndex;
use crate::snapshot::WaitingJob;
use common::id::JobKey;
use common::policy::Behind;
use common::queue::Queue;
use common::reason::WaitReason;
use std::sync::Arc;

impl<'a> Desk<'a> {
    /// Starts all components, or none; every one of them has had its turn afterwards.
    /// `is_known`: as far as this one goes, nothing has changed since that was tried.
    pub(super) fn start_together(&mut self, first: JobKey, is_known: bool) -> Next {
        let components: Vec<_> = self.snapshot.line.together(first).collect();
        let is_parked = |one: &&&Arc<WaitingJob>| self.snapshot.class_of(one.key).is_none();
        if let Some(parked) = components.iter().find(is_parked) {
            for component in components.iter().filter(|one| !is_parked(one)) {
                self.waits.tell(component.key, WaitReason::Component { key: parked.key });
            }
            return Next::MayTry;
        }
        if is_known && self.repeat_together(&components) {
            return Next::MayTry;
        }
        let checkpoint = self.trial.checkpoint();
        let (books, arrays) = (self.books.clone(), self.arrays.clone());
        let (pledges, started) = (self.pledges.clone(), self.started.len());
        let decided = self.decisions.len();
        for component in components.iter().copied() {
            if let Err(failed) = self.start_component(component) {
                let (shape, obstacle) = *failed;
                self.trial.roll_back(checkpoint);
                (self.books, self.arrays, self.pledges) = (books, arrays, pledges);
                self.started.truncate(started);
                self.ends_at = None;
                let undone = self.decisions.split_off(decided);
                // Shadows had looked at the nodes as they were with the others there.
                self.look(&self.nodes_of(&undone), NEVER);
                self.waits.forget_starts(components.iter().map(|component| component.key));
                self.tell_all(&components, component, shape, obstacle);
                return Next::MayTry;
            }
        }
        self.trial.keep(checkpoint);
        Next::MayTry
    }

    /// The nodes of these starts.
    fn nodes_of(&self, starts: &[Decision]) -> Vec<NodeIndex> {
        let shares = starts.iter().flat_map(|decision| match decision {
            Decision::Start { allocation, .. } => allocation.shares(),
            Decision::Preempt { .. } => &[],
        });
        shares.filter_map(|share| self.trial.floor.find(&share.node)).collect()
    }

    fn start_component(
        &mut self,
        job: &'a Arc<WaitingJob>,
    ) -> Result<(), Box<(Option<ShapeIndex>, Obstacle)>> {
        let Some(queue) = self.queues.get(&job.queue).copied() else {
            let reason = WaitReason::QueueGone { queue: job.queue.clone() };
            return Err(Box::new((None, Obstacle::Refused(reason))));
        };
        let shape = self.shapes.of(&self.snapshot.floor, &self.snapshot.policy, queue, job);
        if let Err(super::Refused::Job(reason) | super::Refused::Class(reason)) =
            self.admit(job, shape)
        {
            return Err(Box::new((None, Obstacle::Refused(reason))));
        }
        self.searches.count();
        self.try_start(job, shape, &[]).map_err(|obstacle| Box::new((Some(shape), obstacle)))
    }

    fn tell_all(
        &mut self,
        components: &[&'a Arc<WaitingJob>],
        failed: &'a Arc<WaitingJob>,
        shape: Option<ShapeIndex>,
        obstacle: Obstacle,
    ) {
        for component in components {
            self.searches.in_vain(component.key, None, false);
            match (&obstacle, shape) {
                (Obstacle::Refused(reason), _) => {
                    self.waits.tell(component.key, reason.clone());
                }
                (Obstacle::Pledged(whom), Some(shape)) => {
                    self.waits.note(component.key, shape, Some(*whom));
                }
                (Obstacle::Kept(whom), Some(shape)) => {
                    self.waits.note(component.key, shape, *whom);
                }
                (_, Some(shape)) => self.waits.note(component.key, shape, None),
                (_, None) => self.waits.tell(component.key, WaitReason::NotConsidered),
            }
        }
        if let (Some(shape), Some(queue)) = (shape, self.queues.get(&failed.queue).copied())
            && !matches!(obstacle, Obstacle::Refused(_))
        {
            self.searches.in_vain(failed.key, None, true);
            self.reserve_together(queue, failed, shape);
        }
    }

    /// Reserves for a component without room where its queue does.
    pub(super) fn reserve_together(
        &mut self,
        queue: &'a Queue,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
    ) {
        if self.never_fits(shape).is_some() {
            return;
        }
        let backfills = queue.behind == Behind::Backfill;
        let reserved =
            backfills && !self.queue_is_done(&queue.name) && self.reserve(queue, job, shape);
        if reserved || !backfills {
            self.heads.entry(&queue.name).or_insert((job.key, 0)).1 += u32::from(reserved);
        }
    }
}
