//! What is kept for somebody on certain nodes at certain times: reservations of operators, and
//! promises to jobs. Never decides what to keep.
//!
//! Source: man scontrol, RESERVATIONS; conservative backfill: A. Mu'alem and D. Feitelson, IEEE
//! TPDS 12(6), 2001.

use crate::fit::hall::Hall;
use crate::floor::tally::{Takes, Tally};
use crate::floor::{Floor, NodeIndex};
use crate::trial::Trial;
use common::id::{JobKey, ReservationName};
use common::reservation::Reservation;
use common::time::Time;
use std::collections::BTreeMap;

/// Whom something is kept for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum For {
    /// A waiting job.
    Job(JobKey),
    /// Whoever may use this booking; the whole node.
    Reservation(ReservationName),
}

/// Something kept on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Booking {
    pub from: Time,
    pub to: Time,
    pub takes: Takes,
    pub whom: For,
}

/// All that is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bookings {
    by_node: BTreeMap<NodeIndex, Vec<Booking>>,
}

impl Bookings {
    /// The operators' reservations that are not over.
    pub fn of<'r>(
        floor: &Floor,
        reservations: impl Iterator<Item = &'r Reservation>,
        now: Time,
    ) -> Self {
        let mut bookings = Self::default();
        for booked in reservations.filter(|booked| booked.to > now) {
            for at in booked.nodes.iter().filter_map(|name| floor.find(name)) {
                let whom = For::Reservation(booked.name.clone());
                let takes = Takes { whole_node: true, ..Takes::default() };
                bookings.add(at, Booking { from: booked.from, to: booked.to, takes, whom });
            }
        }
        bookings
    }

    /// Keeps something more.
    pub fn add(&mut self, at: NodeIndex, booking: Booking) {
        self.by_node.entry(at).or_default().push(booking);
    }

    /// Keeps nothing for this job any more.
    pub fn drop_job(&mut self, key: JobKey, nodes: impl Iterator<Item = NodeIndex>) {
        for at in nodes {
            if let Some(list) = self.by_node.get_mut(&at) {
                list.retain(|booking| booking.whom != For::Job(key));
                if list.is_empty() {
                    self.by_node.remove(&at);
                }
            }
        }
    }

    /// What is kept on a node.
    pub fn on(&self, at: NodeIndex) -> &[Booking] {
        self.by_node.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The last time before `ends` at which anything booked begins or is over.
    pub fn last_before(&self, ends: Time) -> Option<Time> {
        let edges = self.by_node.values().flatten().flat_map(|booking| [booking.from, booking.to]);
        edges.filter(|edge| *edge < ends).max()
    }

    /// Is nothing kept anywhere?
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Does a job that takes this much of a node now leave what is kept there?
    pub fn leave_room(&self, hall: &Hall<'_>, at: NodeIndex, takes: Takes) -> bool {
        if self.by_node.is_empty() && hall.reservation.is_none() {
            return true;
        }
        self.is_free_from(hall, at, takes, hall.now, hall.ends)
    }

    /// Could a job hold this much of a node from `from` to `to`, beside what is kept there?
    pub fn is_free_from(
        &self,
        hall: &Hall<'_>,
        at: NodeIndex,
        takes: Takes,
        from: Time,
        to: Time,
    ) -> bool {
        let on = self.on(at);
        if let Some(own) = hall.reservation {
            // A job of a reservation keeps to its nodes and its time.
            let own = on.iter().find(|booked| booked.whom == For::Reservation(own.clone()));
            if own.is_none_or(|own| from < own.from || to > own.to) {
                return false;
            }
        }
        let mut checks = vec![from];
        for booked in on {
            let overlaps = booked.from < to && from < booked.to;
            match &booked.whom {
                For::Reservation(name) if hall.reservation == Some(name) => {}
                For::Reservation(_) if overlaps => return false,
                For::Job(_) if overlaps && booked.from > from => checks.push(booked.from),
                _ => {}
            }
        }
        checks.into_iter().all(|time| {
            let tally = self.tally(hall.trial, at, time, hall.now);
            tally.holds(&hall.floor().node(at).class, hall.shape.demand.request, takes)
        })
    }

    /// What is free on a node at a time, beside what is kept for jobs then.
    pub fn tally(&self, trial: &Trial<'_>, at: NodeIndex, time: Time, now: Time) -> Tally {
        let class = &trial.floor.node(at).class;
        let mut tally = Tally::of(trial.free(at));
        if time > now {
            for holder in trial.holders(at).iter().take_while(|holder| holder.until <= time) {
                tally.give_back(class, &holder.share);
            }
        }
        for booked in self.on(at) {
            let is_job = matches!(booked.whom, For::Job(_));
            if is_job && booked.from <= time && time < booked.to {
                tally.take(booked.takes);
            }
        }
        tally
    }

    /// The reservation that first keeps a job off a node, were it to run from now to its end.
    pub fn reservation_in_the_way(
        &self,
        hall: &Hall<'_>,
        at: NodeIndex,
    ) -> Option<(&ReservationName, Time, Time)> {
        let in_the_way = self.on(at).iter().filter_map(|booked| match &booked.whom {
            For::Reservation(name)
                if hall.reservation != Some(name)
                    && booked.from < hall.ends
                    && hall.now < booked.to =>
            {
                Some((name, booked.from, booked.to))
            }
            _ => None,
        });
        in_the_way.min_by_key(|(_, from, _)| *from)
    }
}
