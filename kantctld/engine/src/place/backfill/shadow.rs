//! Shadows: the promised start of the first job of a queue that has no room. Later jobs may pass
//! only if the job still has room at that time. Its nodes do not matter, as long as enough remain.
//!
//! Source: D. Lifka, "The ANL/IBM SP scheduling system" (1995), known as EASY; man slurm.conf,
//! SchedulerType=sched/backfill.
//! Reads: time limits of running, starting and waiting jobs, and how long waiting jobs are expected
//! to run, if their queue plans by that (`delay_allowed`).
//! Knobs: `backfill_reservation` of a queue (`pinned` keeps certain nodes: `bookings`).
//!
//! A later job may start if its time limit ends it before the shadow time, or if enough nodes still
//! have room at that time while it runs. If its queue plans by expected run times, the expected end
//! counts instead, within the bounds of `delay_allowed`. A job without a time limit never ends; if
//! a shadow depends on such a job, its time is unknown and nothing is kept.
//!
//! Example. Nodes a and b of 4 CPUs; a is in use for 60 minutes more. Job 1 asks for both nodes and
//! gets a shadow in 60 minutes. Job 2 asks for a node for 30 minutes: it starts on b. Job 3, had it
//! come before job 2, asks for a node for 90 minutes: it waits, since it would delay job 1.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::switches::SwitchIndex;
use crate::model::demand::Part;
use crate::model::shape::Side;
use crate::model::shape_cache::ShapeIndex;
use crate::place::backfill::delay_allowed::DelayAllowed;
use crate::place::backfill::earliest::{Earliest, Size, part_sizes};
use crate::place::backfill::segments::Segments;
use crate::place::node_search::NodeSearch;
use common::id::JobKey;
use common::time::Time;
use std::collections::BTreeMap;

/// What one promised job counts on.
#[derive(Debug, Clone)]
pub(crate) struct Shadow {
    pub key: JobKey,
    pub shape: ShapeIndex,
    pub at: Time,
    pub delay: DelayAllowed,
    /// The side of the zones on which it will have room.
    pub side: Side,
    sizes: Vec<Size>,
    /// For each size, the nodes that will have room for it, by position.
    ready: Vec<Vec<bool>>,
    /// For each size, the number of such nodes under each switch. One entry for all nodes if
    /// switches do not matter.
    counts: Vec<BTreeMap<Option<SwitchIndex>, u32>>,
}

impl Shadow {
    /// The shadow of a job that will have room at the time found. `None` for a job that takes as
    /// few nodes as hold its tasks, or blocks of nodes: its nodes are not fixed, so they cannot be
    /// counted.
    pub fn of_planned_job(
        search: &NodeSearch<'_>,
        key: JobKey,
        shape: ShapeIndex,
        found: &Earliest,
        delay: DelayAllowed,
    ) -> Option<Self> {
        let nodes = search.shape.node_count()?;
        if Segments::required(search, nodes.0 as usize).is_some() {
            return None;
        }
        let sizes = part_sizes(search, nodes);
        let mut shadow = Self {
            key,
            shape,
            at: found.at,
            delay,
            side: search.side,
            ready: vec![vec![false; search.cluster().len()]; sizes.len()],
            counts: vec![BTreeMap::new(); sizes.len()],
            sizes,
        };
        for at in &found.nodes {
            match shadow.sizes.len() {
                // They have room for the smallest part.
                1 => shadow.set((0, *at), switch(search, *at), true),
                _ => shadow.recheck_node(search, *at),
            }
        }
        debug_assert!(
            shadow.still_has_room(),
            "the shadow of job {key} does not stand from the first"
        );
        Some(shadow)
    }

    /// Checks again what a node will have.
    pub fn recheck_node(&mut self, search: &NodeSearch<'_>, at: NodeIndex) {
        let switch = switch(search, at);
        let tally = search.bookings.tally(search.trial, at, self.at, search.now);
        for number in 0..self.sizes.len() {
            let takes = search.usage_on_node(at, self.sizes[number].part);
            let is_ready = search.allows(at) && tally.holds(takes);
            self.set((number, at), switch, is_ready);
        }
    }

    /// Sets whether a node will have room for a size.
    fn set(
        &mut self,
        (number, at): (usize, NodeIndex),
        switch: Option<SwitchIndex>,
        is_ready: bool,
    ) {
        let was_ready = std::mem::replace(&mut self.ready[number][at.at()], is_ready);
        let count = self.counts[number].entry(switch).or_default();
        *count = *count + u32::from(is_ready) - u32::from(was_ready);
    }

    /// Whether the job will still have room.
    pub fn still_has_room(&self) -> bool {
        let switches = self.counts.first().into_iter().flat_map(BTreeMap::keys);
        let enough = |switch: &Option<SwitchIndex>| {
            let counts = self.counts.iter().map(|counts| counts.get(switch).copied().unwrap_or(0));
            counts.zip(&self.sizes).all(|(count, size)| count >= size.need)
        };
        switches.into_iter().any(enough)
    }

    /// The part that it needs of each node, and how many nodes it can spare. `None`: it needs
    /// different parts, or nodes under one switch.
    pub fn part_and_spare(&self) -> Option<(Part, usize)> {
        let ([size], [counts]) = (&self.sizes[..], &self.counts[..]) else { return None };
        let (1, Some(count)) = (counts.len(), counts.values().next()) else { return None };
        Some((size.part, count.saturating_sub(size.need) as usize))
    }

    /// The nodes it counts on.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let ready = (0..).map(NodeIndex).zip(self.ready.last().into_iter().flatten());
        ready.filter(|(_, ready)| **ready).map(|(at, _)| at)
    }

    /// Whether it counts on this node.
    pub fn counts_on(&self, at: NodeIndex) -> bool {
        self.ready.last().is_some_and(|ready| ready[at.at()])
    }

    /// Marks the nodes it counts on.
    pub fn mark(&self, nodes: &mut [bool]) {
        let ready = self.ready.last().into_iter().flatten();
        for (node, ready) in nodes.iter_mut().zip(ready) {
            *node |= *ready;
        }
    }
}

/// The switch under which the node is counted.
fn switch(search: &NodeSearch<'_>, at: NodeIndex) -> Option<SwitchIndex> {
    let near = search.shape.demand.request.near.filter(|near| near.required);
    near.and_then(|near| search.cluster().switches().switch_of_node(near.level, at))
}
