//! When running jobs are no longer safe from others. Never from whom.

use super::world::World;
use crate::desk::Desk;
use common::time::Time;

/// When the next running job is no longer safe from somebody. Which of the minima on its path hold
/// depends on who asks, so there is a look at the end of each.
pub(super) fn next(desk: &Desk<'_>, world: &World) -> Option<Time> {
    let tree = &world.queues;
    let rows = desk.snapshot.muster.rows().iter();
    let ends = rows.flat_map(|(queue, row)| {
        let path = tree.find(queue.as_str()).map_or(&[][..], |at| tree.path(at));
        // What the queue and those above it say about safety.
        let minima = path.iter().flat_map(|at| tree.terms[at.0].protection.all());
        minima.filter_map(|least| row.next_to_run_for(least, desk.now))
    });
    ends.min()
}
