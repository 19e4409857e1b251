//! When running jobs are no longer safe from others. Never from whom.

use super::tree::{QueueAt, Tree};
use super::world::World;
use crate::desk::Desk;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// When the next running job is no longer safe from somebody. Which of the minima on its path hold
/// depends on who asks, so there is a look at the end of each.
pub(super) fn next(desk: &Desk<'_>, world: &World) -> Option<Time> {
    let minima: BTreeMap<&str, Vec<Span>> = minima(world);
    let rows = desk.snapshot.muster.rows().iter();
    let ends = rows.flat_map(|(queue, row)| {
        let minima = minima.get(queue.as_str()).map_or(&[][..], Vec::as_slice);
        minima.iter().filter_map(|least| row.next_to_run_for(*least, desk.now))
    });
    ends.min()
}

/// What every queue and those above it say about safety.
fn minima(world: &World) -> BTreeMap<&str, Vec<Span>> {
    let tree = Tree::new(world.queues.clone());
    let of = |at: usize| {
        let path = tree.path(QueueAt(at)).iter();
        path.flat_map(|at| world.queues[at.0].protection.all()).collect()
    };
    world.queues.iter().enumerate().map(|(at, queue)| (queue.name.as_str(), of(at))).collect()
}
