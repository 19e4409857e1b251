//! What is kept on certain nodes at certain times: operators' reservations, and promises to jobs.
//!
//! Source: man scontrol, RESERVATIONS; conservative backfill: A. Mu'alem and D. Feitelson, IEEE
//! TPDS 12(6), 2001.

use crate::model::cluster::free::Free;
use crate::model::cluster::tally::{Takes, Tally};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::place::node_search::NodeSearch;
use crate::place::node_search::timeline::Timeline;
use crate::place::trial::Trial;
use common::id::{JobKey, ReservationName};
use common::reservation::Reservation;
use common::time::Time;
use common::unit::GpuMilli;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// For which job or reservation something is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum For {
    Job(JobKey),
    /// For all jobs that may use this reservation: the whole node.
    Reservation(ReservationName),
}

/// Resources kept on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Booking {
    pub from: Time,
    pub to: Time,
    pub takes: Takes,
    /// Which GPUs it takes, by position in the node's class. None: any that it accepts.
    pub gpus: u128,
    pub kept_for: For,
}

/// All bookings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bookings {
    by_node: Vec<Vec<Booking>>,
    count: usize,
    /// How many bookings begin or end at each time.
    edges: BTreeMap<Time, u32>,
    /// How many operators' reservations are on each node.
    reserved: BTreeMap<NodeIndex, u32>,
    /// What nodes will have free, computed on demand.
    lines: RefCell<Vec<Slot>>,
}

/// What is known of a node's future.
#[derive(Debug, Clone, Default)]
enum Slot {
    #[default]
    Unknown,
    /// The node has no timeline, at this version of the trial.
    None(u64),
    Line(Timeline),
}

impl Bookings {
    /// The operators' reservations that have not ended.
    pub fn of<'r>(
        cluster: &ClusterIndex,
        reservations: impl Iterator<Item = &'r Reservation>,
        now: Time,
    ) -> Self {
        let mut bookings = Self::default();
        for booked in reservations.filter(|booked| booked.to > now) {
            for at in booked.nodes.iter().filter_map(|name| cluster.find(name)) {
                let kept_for = For::Reservation(booked.name.clone());
                let takes = Takes { whole_node: true, ..Takes::default() };
                bookings.add(
                    at,
                    Booking { from: booked.from, to: booked.to, takes, gpus: 0, kept_for },
                );
            }
        }
        bookings
    }

    pub fn add(&mut self, at: NodeIndex, booking: Booking) {
        debug_assert!(booking.from <= booking.to, "a booking ends before it begins");
        if self.by_node.len() <= at.at() {
            self.by_node.resize_with(at.at() + 1, Vec::new);
        }
        self.count += 1;
        for edge in [booking.from, booking.to] {
            *self.edges.entry(edge).or_default() += 1;
        }
        if matches!(booking.kept_for, For::Reservation(_)) {
            *self.reserved.entry(at).or_default() += 1;
        }
        if let Some(slot) = self.lines.get_mut().get_mut(at.at()) {
            match slot {
                Slot::Line(line) if booking.takes.milli == GpuMilli::ZERO => line.add(&booking),
                _ => *slot = Slot::Unknown,
            }
        }
        self.by_node[at.at()].push(booking);
    }

    /// Removes all bookings of this job on these nodes.
    pub fn drop_job(&mut self, key: JobKey, nodes: impl Iterator<Item = NodeIndex>) {
        for at in nodes {
            while let Some(place) =
                self.on(at).iter().position(|booking| booking.kept_for == For::Job(key))
            {
                let booking = self.by_node[at.at()].remove(place);
                self.forget(at, &booking);
            }
        }
    }

    /// Sets which GPUs of a node are kept for a job.
    pub fn set_booked_gpus(&mut self, at: NodeIndex, key: JobKey, gpus: u128) {
        let on = self.by_node.get_mut(at.at()).into_iter().flatten();
        on.filter(|booking| booking.kept_for == For::Job(key))
            .for_each(|booking| booking.gpus = gpus);
    }

    /// What is free on a node at this time, without the GPUs that are kept for jobs. `None`: it is
    /// not known which are.
    pub fn free_but_for_kept(&self, trial: &Trial<'_>, at: NodeIndex, now: Time) -> Option<Free> {
        let is_kept = |one: &&Booking| one.gpus != 0 && one.from <= now && now < one.to;
        let mut kept = self.on(at).iter().filter(is_kept).peekable();
        kept.peek()?;
        let mut free = trial.free(at).clone();
        kept.for_each(|booking| free.take_gpus(booking.gpus, booking.takes.milli));
        Some(free)
    }

    fn forget(&mut self, at: NodeIndex, booking: &Booking) {
        assert!(self.count > 0, "more bookings are forgotten than were made");
        debug_assert!(self.edges.contains_key(&booking.from), "a booking without its edges");
        self.count -= 1;
        for edge in [booking.from, booking.to] {
            if let Some(count) = self.edges.get_mut(&edge) {
                *count -= 1;
                if *count == 0 {
                    self.edges.remove(&edge);
                }
            }
        }
        match self.lines.get_mut().get_mut(at.at()) {
            Some(Slot::Line(line)) => line.remove(booking),
            Some(slot) => *slot = Slot::Unknown,
            None => {}
        }
    }

    /// What is kept on a node.
    pub fn on(&self, at: NodeIndex) -> &[Booking] {
        self.by_node.get(at.at()).map_or(&[], Vec::as_slice)
    }

    /// The nodes on which anything is kept.
    pub fn booked_nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let nodes = (0..).map(NodeIndex).zip(&self.by_node);
        nodes.filter(|(_, on)| !on.is_empty()).map(|(at, _)| at)
    }

    /// The nodes with operators' reservations.
    pub fn reserved_nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.reserved.keys().copied()
    }

    /// The last time before `ends` at which a booking begins or ends.
    pub fn last_before(&self, ends: Time) -> Option<Time> {
        self.edges.range(..ends).next_back().map(|(edge, _)| *edge)
    }

    /// Whether nothing is kept anywhere.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Queries the node's timeline. `None`: it has none, an operator reserved it, or the job needs
    /// more than a timeline shows.
    pub(super) fn query_timeline<T>(
        &self,
        search: &NodeSearch<'_>,
        at: NodeIndex,
        ask: impl FnOnce(&Timeline) -> T,
    ) -> Option<T> {
        let is_plain =
            search.reservation.is_none() && search.shape.demand.request.per_node_max().is_none();
        if !is_plain || self.reserved.contains_key(&at) {
            return None;
        }
        let mut lines = self.lines.borrow_mut();
        if lines.len() <= at.at() {
            lines.resize_with(search.cluster().len().max(at.at() + 1), Slot::default);
        }
        let (version, slot) = (search.trial.version_of(at), &mut lines[at.at()]);
        let is_known = match slot {
            Slot::Unknown => false,
            Slot::None(known) => *known == version,
            Slot::Line(line) => line.version == version && line.now == search.now,
        };
        if !is_known {
            *slot = Timeline::of(search.trial, at, self.on(at), search.now)
                .map_or(Slot::None(version), Slot::Line);
        }
        match slot {
            Slot::Line(line) => Some(ask(line)),
            _ => None,
        }
    }

    /// What is free on a node at a time, without what is kept for jobs then.
    pub fn tally(&self, trial: &Trial<'_>, at: NodeIndex, time: Time, now: Time) -> Tally {
        let mut tally = Tally::of(trial.free(at));
        if time > now {
            for holder in trial.holders(at).iter().take_while(|holder| holder.until <= time) {
                tally.give_back(holder);
            }
        }
        for booked in self.on(at) {
            let is_job = matches!(booked.kept_for, For::Job(_));
            if is_job && booked.from <= time && time < booked.to {
                tally.take(booked.takes, booked.gpus);
            }
        }
        tally
    }

    /// The first reservation that keeps a job off a node if it ran from now until its end.
    pub fn reservation_in_the_way(
        &self,
        search: &NodeSearch<'_>,
        at: NodeIndex,
    ) -> Option<(&ReservationName, Time, Time)> {
        let in_the_way = self.on(at).iter().filter_map(|booked| match &booked.kept_for {
            For::Reservation(name)
                if search.reservation != Some(name)
                    && booked.from < search.ends
                    && search.now < booked.to =>
            {
                Some((name, booked.from, booked.to))
            }
            _ => None,
        });
        in_the_way.min_by_key(|(_, from, _)| *from)
    }
}
