//! What one node will have free from now on, as steps in time: running jobs end by their limits,
//! and what is kept for waiting jobs begins and ends. Operators' reservations are not included.
//!
//! Source: ours; the availability profile of conservative backfill (A. Mu'alem and D. Feitelson,
//! IEEE TPDS 12(6), 2001), one for each node. Only for nodes on which counts suffice: GPUs of one
//! kind, none of them shared, and no job past its time limit.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::cluster::tally::{Takes, Tally};
use crate::place::node_search::bookings::{Booking, For};
use crate::place::trial::Trial;
use common::time::{Span, Time};
use common::unit::GpuMilli;

/// What is free from a time on. Negative if more is kept than there will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    from: Time,
    memory: i64,
    cpus: i32,
    gpus: i32,
    /// Running jobs and bookings.
    holders: i32,
    /// Those that have the whole node.
    closers: i32,
}

impl Step {
    const fn holds(&self, takes: Need) -> bool {
        self.closers <= 0
            && !(takes.whole_node && self.holders > 0)
            && takes.cpus <= self.cpus
            && takes.memory <= self.memory
            && takes.gpus <= self.gpus
    }

    const fn has_same(&self, other: &Self) -> bool {
        self.memory == other.memory
            && self.cpus == other.cpus
            && self.gpus == other.gpus
            && self.holders == other.holders
            && self.closers == other.closers
    }
}

/// What a part takes, in the terms of a step.
#[derive(Debug, Clone, Copy)]
struct Need {
    memory: i64,
    cpus: i32,
    gpus: i32,
    whole_node: bool,
}

impl Need {
    fn of(takes: Takes) -> Self {
        // A share takes a whole GPU where no GPU is shared.
        let gpus = takes.resources.gpus.0.max(takes.shared.0);
        Self {
            // A part that asks for no memory fits even where more is kept than there will be.
            memory: if takes.resources.memory.0 == 0 {
                i64::MIN
            } else {
                saturating_i64(takes.resources.memory.0)
            },
            cpus: if takes.resources.cpus.0 == 0 {
                i32::MIN
            } else {
                saturating_i32(takes.resources.cpus.0)
            },
            gpus: if gpus == 0 { i32::MIN } else { saturating_i32(gpus) },
            whole_node: takes.whole_node,
        }
    }
}

/// What a node will have free.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// In ascending time; the first step is now. Each step differs from the one before.
    steps: Vec<Step>,
    /// The trial's version of the node from which this was computed.
    pub version: u64,
    pub now: Time,
}

impl Timeline {
    /// The timeline of a node with these bookings. `None`: counts do not suffice there.
    pub fn of(trial: &Trial<'_>, at: NodeIndex, on: &[Booking], now: Time) -> Option<Self> {
        let class = &trial.cluster.node(at).class;
        let free = trial.free(at);
        if class.kinds().len() > 1 {
            return None;
        }
        let gpus = Tally::of(free).whole_gpus()?;
        let mut step = Step {
            from: now,
            memory: saturating_i64(free.memory.0),
            cpus: saturating_i32(free.core_cpus.0),
            gpus: saturating_i32(gpus.0),
            holders: saturating_i32(free.holders),
            closers: i32::from(free.closed),
        };
        let mut steps = vec![step];
        let mut left = free.holders;
        for holder in trial.holders(at) {
            if holder.part > GpuMilli::ZERO || holder.until <= now {
                return None;
            }
            if holder.until == NEVER {
                break;
            }
            left = left.saturating_sub(1);
            step.memory += saturating_i64(holder.memory.0);
            step.cpus += saturating_i32(holder.cpus.0);
            step.gpus += saturating_i32(holder.gpus.count_ones());
            step.holders -= 1;
            step.closers = i32::from(free.closed && left > 0);
            step.from = holder.until;
            match steps.last_mut() {
                Some(last) if last.from == step.from => *last = step,
                _ => steps.push(step),
            }
        }
        let mut line = Self { steps, version: trial.version_of(at), now };
        for booking in on {
            if booking.takes.milli != GpuMilli::ZERO {
                return None;
            }
            line.add(booking);
        }
        Some(line)
    }

    /// Adds a booking.
    pub fn add(&mut self, booking: &Booking) {
        self.change(booking, 1);
    }

    /// Removes a booking.
    pub fn remove(&mut self, booking: &Booking) {
        self.change(booking, -1);
    }

    fn change(&mut self, booking: &Booking, sign: i32) {
        if !matches!(booking.kept_for, For::Job(_)) || booking.to <= self.now.max(booking.from) {
            return;
        }
        let first = self.step_at(booking.from.max(self.now));
        let end = if booking.to == NEVER { self.steps.len() } else { self.step_at(booking.to) };
        let takes = booking.takes;
        for step in &mut self.steps[first..end] {
            step.memory -= i64::from(sign) * saturating_i64(takes.resources.memory.0);
            step.cpus -= sign * saturating_i32(takes.resources.cpus.0);
            step.gpus -= sign * saturating_i32(takes.resources.gpus.0);
            step.holders += sign;
            step.closers += sign * i32::from(takes.whole_node);
        }
        debug_assert!(self.steps.is_sorted_by(|one, next| one.from < next.from), "steps in time");
        for edge in [end, first] {
            if (1..self.steps.len()).contains(&edge)
                && self.steps[edge].has_same(&self.steps[edge - 1])
            {
                self.steps.remove(edge);
            }
        }
    }

    /// The step that begins at this time; added if there is none.
    fn step_at(&mut self, time: Time) -> usize {
        match self.steps.binary_search_by_key(&time, |step| step.from) {
            Ok(at) => at,
            Err(at) => {
                let before = self.steps[at.saturating_sub(1)];
                self.steps.insert(at, Step { from: time, ..before });
                at
            }
        }
    }

    /// Whether a part has room all the time from `from` to `to`.
    pub fn is_free(&self, takes: Takes, from: Time, to: Time) -> bool {
        let need = Need::of(takes);
        let first = self.steps.partition_point(|step| step.from <= from).saturating_sub(1);
        let during = self.steps[first..].iter().take_while(|step| step.from < to);
        // Even for a length of zero there must be room at the beginning.
        self.steps[first].holds(need) && during.into_iter().all(|step| step.holds(need))
    }

    /// The start times at which a part has room for `length`, as ascending intervals with both ends
    /// included. Intervals that begin after `by` are left out. Stops when `add` returns false.
    pub fn start_intervals(
        &self,
        takes: Takes,
        length: Span,
        by: Time,
        mut add: impl FnMut(Time, Time) -> bool,
    ) {
        let need = Need::of(takes);
        let mut runs = Runs::new(length, by);
        for step in &self.steps {
            if !runs.step(step.from, step.holds(need), &mut add) {
                return;
            }
        }
        runs.end(add);
    }
}

/// Turns steps of time with or without room, in their order, into intervals of start times.
#[derive(Debug)]
pub(super) struct Runs {
    length: Span,
    by: Time,
    open: Option<Time>,
}

impl Runs {
    /// For a job of this length that starts by this time.
    pub const fn new(length: Span, by: Time) -> Self {
        Self { length, by, open: None }
    }

    /// Adds the next step. Returns whether another one is wanted.
    pub fn step(
        &mut self,
        from: Time,
        has_room: bool,
        add: &mut impl FnMut(Time, Time) -> bool,
    ) -> bool {
        match (has_room, self.open) {
            (_, None) if from > self.by => false,
            (true, None) => {
                self.open = Some(from);
                true
            }
            (false, Some(open)) => {
                self.open = None;
                let is_long = from.since(open) >= self.length;
                (!is_long || add(open, from - self.length)) && from <= self.by
            }
            _ => true,
        }
    }

    /// Ends the steps.
    pub fn end(self, mut add: impl FnMut(Time, Time) -> bool) {
        if let Some(open) = self.open {
            add(open, NEVER);
        }
    }
}

fn saturating_i32(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn saturating_i64(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
