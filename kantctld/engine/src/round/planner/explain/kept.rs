//! What is free and kept for a job that comes before. Operators' reservations are not counted.

use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::{Bookings, For};
use crate::round::planner::explain::WaitExplainer;
use common::reason::{Need, WaitReason};
use common::unit::Nodes;

impl WaitExplainer<'_> {
    /// The nodes that hold a part now, including those kept for other jobs. For jobs of one node,
    /// none are counted unless something is kept for jobs.
    pub(super) fn free_now(&self, need: &Need, part: Part) -> Vec<NodeIndex> {
        let keeps =
            self.state.planned_starts.values().any(|planned_start| !planned_start.nodes.is_empty());
        match need.nodes {
            Nodes(1) if !keeps => Vec::new(),
            _ if !keeps => self.search.all_that_hold(part).collect(),
            _ => {
                let (cluster, now) = (self.search.cluster(), self.state.now);
                let operators =
                    Bookings::of(cluster, self.state.snapshot.reservations.values(), now);
                NodeSearch { bookings: &operators, ..self.search }.all_that_hold(part).collect()
            }
        }
    }

    /// The reason if enough is free, but kept for another job.
    pub(super) fn kept_reason(
        &self,
        need: &Need,
        part: Part,
        free: &[NodeIndex],
    ) -> Option<WaitReason> {
        let enough = need.nodes.0 as usize;
        if free.len() < enough || self.search.all_that_hold(part).take(enough).count() >= enough {
            return None;
        }
        let on_them = free.iter().flat_map(|at| self.state.bookings.on(*at));
        let others = on_them.filter_map(|booked| match booked.kept_for {
            For::Job(other) if other != self.key => Some((booked.from, other)),
            _ => None,
        });
        let (_, next) = others.min()?;
        Some(WaitReason::Priority { ahead: self.state.ahead_of(self.key), next })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        change_policy, gpu_node, gpu_request, key, run, share, snapshot, waiting,
    };
    use common::id::GpuIndex;
    use common::policy::ReservationKind;
    use common::reason::WaitReason;
    use common::resource::Share;
    use common::time::{Span, Time};
    use common::unit::{Nodes, Tasks};

    #[test]
    fn a_job_kept_off_free_nodes_learns_for_which_job_and_the_other_what_is_free() {
        let now = Time(9_000_000);
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        change_policy(&mut snapshot, |policy| {
            let backfill = &mut policy.queues[0].backfill;
            (backfill.depth, backfill.reservation) = (4, ReservationKind::Pinned);
        });
        let all = Share { gpus: (0..8).map(GpuIndex).collect(), ..share("a", "0-7") };
        run(&mut snapshot, 9, all, Some(now + Span::from_minutes(60)));
        let mut both = gpu_request(8);
        (both.nodes, both.tasks) = (Some(Nodes(2)), Tasks(2));
        snapshot.set_waiting(waiting(1, both, 120));
        snapshot.set_waiting(waiting(2, gpu_request(4), 90));
        let round = crate::schedule(&snapshot, now);
        let reason = round.waits.reason_of(&snapshot, key(2));
        assert_eq!(reason, Some(WaitReason::Priority { ahead: 1, next: key(1) }));
        let first = round.waits.reason_of(&snapshot, key(1));
        let Some(WaitReason::Resources { nodes_free, .. }) = first else { panic!("{first:?}") };
        assert_eq!(nodes_free, Nodes(1), "b is free, though kept for it");
    }
}
