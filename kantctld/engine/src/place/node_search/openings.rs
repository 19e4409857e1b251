//! When a node has room for a part of a job, with what is kept there.
//!
//! Source: man scontrol, RESERVATIONS: a job of a reservation is restricted to its nodes and its
//! time.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::{Holder, NEVER};
use crate::model::cluster::tally::Takes;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::{Booking, Bookings, For};
use crate::place::node_search::timeline::{Runs, Timeline};
use common::id::JobKey;
use common::time::{Span, Time};
use common::unit::{GpuMilli, Gpus};

/// What a part takes of a node, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occupancy {
    pub takes: Takes,
    pub length: Span,
}

impl Bookings {
    /// Whether a job that takes this much of a node now leaves room for what is kept there.
    pub fn leave_room(&self, search: &NodeSearch<'_>, at: NodeIndex, takes: Takes) -> bool {
        if self.is_empty() && search.reservation.is_none() {
            return true;
        }
        self.is_free_from(search, at, takes, search.now, search.ends)
    }

    /// Whether a job could hold this much of a node from `from` to `to`, with what is kept there.
    pub fn is_free_from(
        &self,
        search: &NodeSearch<'_>,
        at: NodeIndex,
        takes: Takes,
        from: Time,
        to: Time,
    ) -> bool {
        if !has_kind(search, at, takes) {
            return false;
        }
        if let Some(answer) = self.query_timeline(search, at, |line| line.is_free(takes, from, to))
        {
            return answer;
        }
        let own =
            |name| move |booked: &&Booking| booked.kept_for == For::Reservation(Clone::clone(name));
        let own = search.reservation.map(|name| self.on(at).iter().find(own(name)));
        if own.is_some_and(|own| own.is_none_or(|own| to > own.to)) {
            return false;
        }
        let is_open = |time: Time| self.is_open(search, at, takes, time);
        let begins = self.on(at).iter().map(|booked| booked.from);
        is_open(from) && begins.filter(|time| from < *time && *time < to).all(is_open)
    }

    /// Whether a job could hold this much of a node at this moment. The answer only changes when a
    /// job ends, or when a booking begins or ends.
    fn is_open(&self, search: &NodeSearch<'_>, at: NodeIndex, takes: Takes, time: Time) -> bool {
        let booked = |booked: &Booking| booked.from <= time && time < booked.to;
        let mut is_own = search.reservation.is_none();
        for booking in self.on(at).iter().filter(|booking| booked(booking)) {
            match &booking.kept_for {
                // A job of a reservation is restricted to its nodes and its time.
                For::Reservation(name) if search.reservation == Some(name) => is_own = true,
                For::Reservation(_) => return false,
                For::Job(_) => {}
            }
        }
        is_own
            && group_allows(search, at, time)
            && self.tally(search.trial, at, time, search.now).holds(takes)
    }

    /// Like [`Self::start_intervals`], as if nothing were kept there for this job.
    pub fn start_intervals_without(
        &self,
        search: &NodeSearch<'_>,
        at: NodeIndex,
        occupancy: Occupancy,
        by: Time,
        key: JobKey,
        mut add: impl FnMut(Time, Time) -> bool,
    ) {
        let own = self.on(at).iter().find(|booking| booking.kept_for == For::Job(key));
        let Some(own) = own else { return self.start_intervals(search, at, occupancy, by, add) };
        let Occupancy { takes, length } = occupancy;
        let without = |line: &Timeline| {
            let mut line = line.clone();
            line.remove(own);
            line.start_intervals(takes, length, by, &mut add);
        };
        if has_kind(search, at, takes) && self.query_timeline(search, at, without).is_none() {
            // A node without a timeline: it is safe to assume that it may help.
            add(search.now, NEVER);
        }
    }

    /// The start times at which a node has room for `length`, as ascending intervals with both ends
    /// included. Intervals that begin after `by` are left out. Stops when `add` returns false.
    pub fn start_intervals(
        &self,
        search: &NodeSearch<'_>,
        at: NodeIndex,
        occupancy: Occupancy,
        by: Time,
        mut add: impl FnMut(Time, Time) -> bool,
    ) {
        let Occupancy { takes, length } = occupancy;
        if !has_kind(search, at, takes) {
            return;
        }
        if self
            .query_timeline(search, at, |line| line.start_intervals(takes, length, by, &mut add))
            .is_some()
        {
            return;
        }
        let ends = search.trial.holders(at).iter().map(|holder| gone_at(holder, search.now));
        let edges = self.on(at).iter().flat_map(|booked| [booked.from, booked.to]);
        let mut steps: Vec<Time> =
            ends.chain(edges).filter(|time| *time > search.now && *time < NEVER).collect();
        steps.push(search.now);
        steps.sort_unstable();
        steps.dedup();
        let mut runs = Runs::new(length, by);
        for step in steps {
            if !runs.step(step, self.is_open(search, at, takes, step), &mut add) {
                return;
            }
        }
        runs.end(add);
    }
}

/// Whether a node has GPUs that the job accepts and, for shares, one that is large enough.
fn has_kind(search: &NodeSearch<'_>, at: NodeIndex, takes: Takes) -> bool {
    let class = &search.cluster().node(at).class;
    let wants = takes.resources.gpus > Gpus::ZERO || takes.milli > GpuMilli::ZERO;
    let accepted = || class.accepted_positions(search.shape.demand.request);
    let has_one = || class.kinds().iter().any(|(_, mask)| mask & accepted() != 0);
    !wants || (takes.milli <= GpuMilli::WHOLE && has_one())
}

/// When a job will be gone. A job past its time limit is gone soon, but not yet.
pub(crate) fn gone_at(holder: &Holder, now: Time) -> Time {
    holder.until.max(now + Span(1))
}

/// Whether the limit on jobs of its group per node leaves room for another one at that time.
pub(crate) fn group_allows(search: &NodeSearch<'_>, at: NodeIndex, time: Time) -> bool {
    search.shape.demand.request.per_node_max().is_none() || {
        let holders = search.trial.holders(at);
        let over = |holder: &Holder| time > search.now && holder.until <= time;
        group_has_room(search, &holders[holders.partition_point(over)..])
    }
}

/// The same, for the holders that are left then.
pub(crate) fn group_has_room(search: &NodeSearch<'_>, left: &[Holder]) -> bool {
    search.shape.demand.request.per_node_max().is_none_or(|(group, most)| {
        let same = left.iter().filter(|holder| holder.group.as_deref() == Some(group));
        (same.count() as u64) < u64::from(most)
    })
}
