//! Step 5: promises to jobs without room, and what is kept for them.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::demand::{Part, most_tasks};
use crate::model::job::WaitingJob;
use crate::model::shape::Placing;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::PlannedStart;
use crate::place::backfill::earliest::Window;
use crate::place::backfill::earliest::{Earliest, earliest};
use crate::place::backfill::shadow::Shadow;
use crate::place::fit::gang::Layout;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::{Booking, For};
use common::id::JobKey;
use common::policy::ReservationKind;
use common::policy::queue::Queue;
use common::time::Time;
use common::unit::Tasks;
use std::sync::Arc;

/// The most iterations between a time with room and a time within quotas.
pub(super) const ADMITTED_MAX: u32 = 16;

/// When and where a job will have room, and on which side of the zones.
pub(super) type Found = (Earliest, Placing);

/// A job's bookings, removed for a moment.
pub(super) struct Booked {
    pub nodes: Vec<NodeIndex>,
    bookings: Vec<(NodeIndex, Booking)>,
}

impl<'a> RoundState<'a> {
    /// Promises a start to a job without room. Returns whether anything is kept for it now.
    pub(super) fn reserve(
        &mut self,
        queue: &'a Queue,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
    ) -> bool {
        let kept = self.planned_starts.get(&job.key).cloned();
        if let Some(planned_start) = &kept
            && (!self.snapshot.is_looser || self.stays == Some(job.key))
            && !planned_start.nodes.is_empty()
        {
            return true;
        }
        let own = self.unbook(job.key);
        // A time later than the promised one is of no use.
        let by = kept
            .as_ref()
            .filter(|planned_start| !planned_start.nodes.is_empty())
            .map(|kept| kept.at);
        let found = self.earliest_start(job, shape, Window { after: self.now, by });
        // A start at the same time is taken as well, on the nodes that a promise made now would
        // name, so that what is kept does not depend on when it was first promised.
        let is_as_soon = |planned_start: &PlannedStart| {
            found.as_ref().is_some_and(|(f, _)| f.at <= planned_start.at)
        };
        if let Some(planned_start) =
            kept.as_ref().filter(|planned_start| !planned_start.nodes.is_empty())
            && own.is_some()
        {
            if !is_as_soon(planned_start) {
                own.into_iter().for_each(|own| self.book_again(job.key, own));
                return true;
            }
            // What was kept may be free now for jobs that did not fit before.
            self.shapes.forget();
        }
        self.planned_starts.remove(&job.key);
        let Some(found) = found else { return false };
        let at = found.0.at;
        if job.together.is_some() && at <= self.now {
            // The job would fit by itself: the other components took what it lacks.
            return false;
        }
        self.promise_start(queue, job, shape, &found);
        self.add_future_claim(job, shape, at);
        if let Some(own) = own
            && kept.as_ref() == self.planned_starts.get(&job.key)
        {
            self.unmark_freed(&own);
        }
        true
    }

    /// When and where a job will have room and be admitted.
    pub(super) fn earliest_start(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
        mut window: Window,
    ) -> Option<Found> {
        for _ in 0..ADMITTED_MAX {
            let found = self.room_in(job, shape, window)?;
            let admitted = self.admitted_from(job, shape, found.0.at)?;
            if admitted <= found.0.at {
                return Some(found);
            }
            window.after = admitted;
        }
        None
    }

    /// When and where a job will have room; an elastic job with the fewest tasks.
    fn room_in(&mut self, job: &WaitingJob, shape: ShapeIndex, window: Window) -> Option<Found> {
        if let Some(found) = self.earliest_known(job, shape, window) {
            return found;
        }
        let shape = self.shapes.get(shape).with_fewest_tasks();
        let found = shape.sides().into_iter().filter_map(|side| {
            let search = self.node_search_of(job, &shape, side, &[]);
            Some((earliest(&search, job.time_limit, window)?, side))
        });
        found.min_by_key(|(earliest, _)| earliest.at)
    }

    fn promise_start(
        &mut self,
        queue: &'a Queue,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        found: &Found,
    ) {
        let floats =
            queue.backfill.depth == 1 && queue.backfill.reservation == ReservationKind::Floating;
        if floats {
            let (earliest, side) = found;
            let delay = self.delay_allowed(queue, job, earliest.at);
            let fewest = self.shapes.get(shape).with_fewest_tasks();
            let search = self.node_search_of(job, &fewest, *side, &[]);
            if let Some(shadow) = Shadow::of_planned_job(&search, job.key, shape, earliest, delay) {
                self.shadows.push((&queue.name, shadow));
                let planned = PlannedStart::without_preemption(earliest.at, Vec::new());
                let first = Some(delay.first).filter(|first| *first < planned.at);
                self.planned_starts.insert(job.key, PlannedStart { first, ..planned });
                return;
            }
        }
        self.keep_nodes(job, shape, found);
    }

    pub(super) fn keep_nodes(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        (found, side): &Found,
    ) {
        let shape = self.shapes.get(shape).with_fewest_tasks();
        let search = self.node_search_of(job, &shape, *side, &[]);
        let layout = layout_then(&search, found);
        let nodes = layout.iter().map(|(at, _)| search.cluster().node(*at).name.clone()).collect();
        let bookings = bookings(&search, job, found.at, layout);
        bookings.into_iter().for_each(|(at, booking)| self.bookings.add(at, booking));
        self.planned_starts.insert(job.key, PlannedStart::without_preemption(found.at, nodes));
    }

    /// Keeps the promises of earlier rounds on certain nodes, where they are still possible.
    pub(super) fn keep_planned_starts(&mut self) {
        for (key, planned_start) in &self.snapshot.planned_starts {
            if planned_start.nodes.is_empty() || planned_start.yielded {
                continue;
            }
            // Free for now, until the promise is renewed below.
            let found: Vec<NodeIndex> = planned_start
                .nodes
                .iter()
                .filter_map(|name| self.snapshot.cluster.find(name))
                .collect();
            self.free_up(&found);
            if planned_start.at < self.now {
                continue;
            }
            let class = self.snapshot.class_of(*key);
            let Some(job) = self.snapshot.waiting_job(*key).filter(|_| class.is_some()) else {
                continue;
            };
            let Some(queue) = self.queues.get(&job.queue) else { continue };
            let cluster = &self.snapshot.cluster;
            let nodes: Option<Vec<NodeIndex>> = planned_start
                .nodes
                .iter()
                .map(|name| cluster.find(name).filter(|at| cluster.node(*at).is_usable()))
                .collect();
            let Some(nodes) = nodes else { continue };
            let shape = self.shapes.for_job(cluster, &self.snapshot.policy, queue, job);
            if !nodes.iter().all(|at| self.shapes.get(shape).allows(*at)) {
                // The policy or the request changed: the job may not use these nodes any more.
                continue;
            }
            let fewest = self.shapes.get(shape).with_fewest_tasks();
            let search = self.node_search_of(job, &fewest, fewest.sides()[0], &[]);
            let found = Earliest { at: planned_start.at, nodes };
            let bookings = bookings(&search, job, found.at, layout_then(&search, &found));
            bookings.into_iter().for_each(|(at, booking)| self.bookings.add(at, booking));
            found.nodes.iter().for_each(|at| self.freed.take_back(*at));
            self.planned_starts.insert(*key, planned_start.clone());
            self.unmet.insert(*key);
            self.add_future_claim(job, shape, planned_start.at);
        }
    }

    /// Drops the promises to jobs whose turn has not come, if an earlier job without a promise has
    /// its turn.
    pub(super) fn drop_later_promises(&mut self, key: JobKey) {
        if self.unmet.is_empty() || self.unmet.remove(&key) {
            return;
        }
        for later in std::mem::take(&mut self.unmet) {
            self.unbook(later);
            self.planned_starts.remove(&later);
        }
    }

    /// A job's bookings.
    pub(super) fn bookings_of(&self, key: JobKey) -> Option<Booked> {
        let planned_start = self
            .planned_starts
            .get(&key)
            .filter(|planned_start| !planned_start.nodes.is_empty())?;
        let nodes: Vec<NodeIndex> =
            planned_start.nodes.iter().filter_map(|name| self.trial.cluster.find(name)).collect();
        let mine = |at: &NodeIndex| {
            let own =
                self.bookings.on(*at).iter().filter(|booking| booking.kept_for == For::Job(key));
            own.map(|booking| (*at, booking.clone())).collect::<Vec<_>>()
        };
        let bookings = nodes.iter().flat_map(mine).collect();
        Some(Booked { nodes, bookings })
    }

    /// Removes a job's bookings.
    pub(super) fn unbook(&mut self, key: JobKey) -> Option<Booked> {
        let own = self.bookings_of(key)?;
        self.bookings.drop_job(key, own.nodes.iter().copied());
        self.free_up(&own.nodes);
        Some(own)
    }

    pub(super) fn book_again(&mut self, key: JobKey, own: Booked) {
        self.unmark_freed(&own);
        self.bookings.drop_job(key, own.nodes.into_iter());
        own.bookings.into_iter().for_each(|(at, booking)| self.bookings.add(at, booking));
    }
}

/// The node of each part at that time: the first nodes in order.
fn layout_then(search: &NodeSearch<'_>, found: &Earliest) -> Layout {
    let demand = &search.shape.demand;
    if let Some(nodes) = search.shape.node_count() {
        let mut left = found.nodes.clone();
        let mut layout = Layout::new();
        for part in demand.even_parts(nodes) {
            let takes = |at: NodeIndex| search.usage_on_node(at, part);
            let holds = |at: &NodeIndex| {
                let tally = search.bookings.tally(search.trial, *at, found.at, search.now);
                tally.holds(takes(*at))
            };
            let Some(place) = left.iter().position(holds) else { continue };
            layout.push((left.remove(place), part));
        }
        return layout;
    }
    let mut missing = demand.tasks;
    let mut layout = Layout::new();
    for at in &found.nodes {
        if missing == Tasks::ZERO {
            break;
        }
        let tally = search.bookings.tally(search.trial, *at, found.at, search.now);
        let fits = |tasks: Tasks| {
            demand.request.tasks_per_node.is_none_or(|most| tasks <= most)
                && tally.holds(search.usage_on_node(*at, demand.part(tasks)))
        };
        let part: Part = demand.part(most_tasks(missing, fits));
        if part.tasks > Tasks::ZERO {
            missing -= part.tasks;
            layout.push((*at, part));
        }
    }
    layout
}

pub(super) fn bookings(
    search: &NodeSearch<'_>,
    job: &WaitingJob,
    from: Time,
    layout: Layout,
) -> Vec<(NodeIndex, Booking)> {
    let to = job.time_limit.map_or(Time(u64::MAX), |limit| from + limit);
    let booking = |(at, part)| {
        let takes = search.usage_on_node(at, part);
        (at, Booking { from, to, takes, gpus: 0, kept_for: For::Job(job.key) })
    };
    layout.into_iter().map(booking).collect()
}
