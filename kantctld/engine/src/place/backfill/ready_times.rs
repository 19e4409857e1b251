//! The earliest start of a job from the times at which each node will have room, which are kept
//! from round to round.
//!
//! Source: ours; it finds the same start as [`super::earliest`], which asks every node.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::snapshot::{Ready, ReadyTimes};
use crate::place::backfill::earliest::{Earliest, Size, Window, add_ready_intervals};
use crate::place::node_search::NodeSearch;
use common::time::{Span, Time};

/// The earliest time on equivalent nodes without bookings, for a job without a limit on its group.
/// Only nodes that changed since the last time are asked: `known` is from earlier rounds, and
/// `asked`, by node, from this one.
pub(crate) fn earliest_with(
    search: &NodeSearch<'_>,
    size: Size,
    window: Window,
    (known, asked): (Option<&ReadyTimes>, &mut Vec<Ready>),
) -> Option<Earliest> {
    const NOW: Time = Time(0);
    let (cluster, trial) = (search.cluster(), search.trial);
    let ask = |at: NodeIndex| {
        trial.asked.set(trial.asked.get() + 1);
        let mut first = NEVER;
        add_ready_intervals(search, at, size.part, Span(0), None, |from, _| {
            first = if from <= search.now { NOW } else { from };
        });
        first
    };
    let allows_all = search.shape.may_have_all() && cluster.unusable_count() == 0;
    let mut before = std::mem::take(asked).into_iter().peekable();
    let times = (0..).map(NodeIndex).take(cluster.len()).map(|at| {
        let version = cluster.version_of(at);
        let known = || known.and_then(|known| known.at(at, version));
        let before = before.next_if(|one| one.at == at);
        asked.extend(before);
        let time = if trial.version_of(at) > 0 {
            ask(at)
        } else if let Some(time) = before.map(|one| one.time).or_else(known) {
            time
        } else {
            let time = ask(at);
            asked.push(Ready { at, version, time });
            time
        };
        match time {
            NEVER => NEVER,
            _ if !(allows_all || search.allows(at)) => NEVER,
            NOW => search.now.max(window.after),
            // A job past its time limit is gone soon, but not yet.
            time => time.max(search.now + Span(1)).max(window.after),
        }
    });
    let times: Vec<Time> = times.collect();
    let mut sorted = times.clone();
    let last = (size.need as usize).checked_sub(1).filter(|last| *last < sorted.len())?;
    let at = *sorted.select_nth_unstable(last).1;
    if at == NEVER || window.by.is_some_and(|by| at > by) {
        return None;
    }
    let is_ready = |(node, time): (NodeIndex, &Time)| (*time <= at).then_some(node);
    let nodes = (0..).map(NodeIndex).zip(&times).filter_map(is_ready).collect();
    Some(Earliest { at, nodes })
}
