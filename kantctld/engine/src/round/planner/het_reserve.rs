//! Room that is kept for all components of a set at one time, when they cannot start now.

use super::RoundState;
use super::reserve::ADMITTED_MAX;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::place::backfill::earliest::Window;
use common::policy::Behind;
use common::policy::queue::Queue;
use common::time::Time;
use std::sync::Arc;

/// One component, and its shape.
type Part<'a> = (&'a Arc<WaitingJob>, ShapeIndex);

impl<'a> RoundState<'a> {
    /// Keeps room for all components at one time, if the queue of the component without room keeps
    /// any.
    pub(super) fn reserve_together(
        &mut self,
        queue: &'a Queue,
        failed: &'a Arc<WaitingJob>,
        components: &[&'a Arc<WaitingJob>],
    ) {
        let mut parts = Vec::new();
        for component in components.iter().copied() {
            let Some(own) = self.queues.get(&component.queue) else { return };
            parts.push((component, self.shape_of(own, component)));
        }
        let backfills = queue.behind == Behind::Backfill;
        let reserved = backfills && !self.queue_is_done(&queue.name) && self.book_together(&parts);
        if reserved || !backfills {
            self.heads.entry(&queue.name).or_insert((failed.key, 0)).1 += u32::from(reserved);
        }
    }

    /// Keeps certain nodes for all components from the first time at which all have room, but not
    /// later than was promised. Returns whether anything is kept now.
    fn book_together(&mut self, parts: &[Part<'a>]) -> bool {
        let kept: Vec<_> = parts.iter().filter_map(|(one, _)| self.plan_of(one.key)).collect();
        let by = kept.first().map(|(_, start, _)| start.at).filter(|at| {
            kept.len() == parts.len() && kept.iter().all(|(_, start, _)| start.at == *at)
        });
        if by.is_some() && !self.snapshot.is_looser {
            return true;
        }
        if !kept.is_empty() {
            // What was kept may be free now for jobs that did not fit before.
            self.shapes.forget();
        }
        self.drop_planned_starts(parts);
        let mut after = self.now;
        for _ in 0..ADMITTED_MAX {
            match self.keep_all_at(parts, Window { after, by }) {
                // All of them would fit now: what one lacked was not room.
                Ok(()) if after <= self.now => break,
                Ok(()) => return true,
                Err(None) => break,
                Err(Some(later)) => {
                    self.drop_planned_starts(parts);
                    after = later;
                }
            }
        }
        self.drop_planned_starts(parts);
        if by.is_some_and(|by| by > self.now) {
            kept.into_iter().for_each(|(key, start, own)| self.restore_plan(key, start, own));
            return true;
        }
        false
    }

    /// Keeps nodes for all components at the window's first time.
    ///
    /// # Errors
    /// The first time at which the component without room has room. `None`: none is known.
    fn keep_all_at(&mut self, parts: &[Part<'a>], window: Window) -> Result<(), Option<Time>> {
        let at = window.after;
        for (job, shape) in parts.iter().copied() {
            let found = self.earliest_start(job, shape, window).ok_or(None)?;
            if found.0.at > at {
                return Err(Some(found.0.at));
            }
            self.keep_nodes(job, shape, &found);
            self.add_future_claim(job, shape, at);
        }
        Ok(())
    }

    fn drop_planned_starts(&mut self, parts: &[Part<'a>]) {
        for (job, _) in parts {
            self.unbook(job.key);
            self.planned_starts.remove(&job.key);
        }
    }
}
