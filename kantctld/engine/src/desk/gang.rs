//! Jobs of several components: all of them start in one round, or none. Never starts a part.
//!
//! Source: Slurm, "Heterogeneous Job Support": all components are started at the same time.
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
use common::reason::WaitReason;
use std::sync::Arc;

impl<'a> Desk<'a> {
    /// Starts all components, or none; every one of them has had its turn afterwards.
    pub(super) fn start_together(&mut self, first: JobKey, job: &'a Arc<WaitingJob>) -> Next {
        let mut components = self.together.get(&first).cloned().unwrap_or_else(|| vec![job]);
        components.sort_by_key(|component| component.key);
        let checkpoint = self.trial.checkpoint();
        let (books, arrays) = (self.books.clone(), self.arrays.clone());
        let decided = self.decisions.len();
        for component in components.iter().copied() {
            if let Err(failed) = self.start_component(component) {
                let (shape, obstacle) = *failed;
                self.trial.roll_back(checkpoint);
                (self.books, self.arrays) = (books, arrays);
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
        self.trials_left = self.trials_left.saturating_sub(1);
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
            match (&obstacle, shape) {
                (Obstacle::Refused(reason), _) => {
                    self.waits.tell(component.key, reason.clone());
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
            let backfills = queue.behind == Behind::Backfill;
            let reserved =
                backfills && !self.queue_is_done(&queue.name) && self.reserve(queue, failed, shape);
            if reserved || !backfills {
                self.heads.entry(&queue.name).or_insert((failed.key, 0)).1 += u32::from(reserved);
            }
        }
    }
}
