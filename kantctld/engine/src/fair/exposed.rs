//! The next time at which a running job loses its protection from preemption.

use super::world::World;
use crate::planner::RoundState;
use common::time::Time;

/// The next time at which a running job may be preempted by some other job. Which minimum run time
/// on the queue's path applies depends on the other job, so a round is due at the end of each.
pub(super) fn next(desk: &RoundState<'_>, world: &World) -> Option<Time> {
    let tree = &world.queues;
    let rows = desk.snapshot.running_index.rows().iter();
    let ends = rows.flat_map(|(queue, row)| {
        let path = tree.find(queue.as_str()).map_or(&[][..], |at| tree.path(at));
        // The minimum run times of the queue and its ancestors.
        let minima = path.iter().flat_map(|at| tree.terms[at.0].protection.all());
        minima.filter_map(|least| row.next_to_run_for(least, desk.now))
    });
    ends.min()
}
