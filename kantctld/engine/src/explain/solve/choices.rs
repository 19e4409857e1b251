//! The choices for one part: where it may go, and which jobs are lifted for it.

use super::item::Amounts;
use super::model::{Node, Owner};
use super::search::Search;
use std::collections::BTreeSet;

impl Search<'_, '_> {
    /// The places for a part, with the jobs lifted for it: fewest moves first, then least work
    /// lost, then the fullest node. Also returns whether more moves would allow more choices.
    pub(super) fn choices(
        &mut self,
        owner: Owner,
        part: &Amounts,
        left: u32,
    ) -> (Vec<(Vec<Owner>, usize)>, bool) {
        let mut choices = Vec::new();
        let mut with_more = false;
        let suits = &self.model.jobs[owner].suits;
        let of_each_look = self.by_look.values().filter_map(BTreeSet::first).copied();
        let places: Vec<usize> =
            of_each_look.filter(|place| suits[self.nodes[*place].kind]).collect();
        for place in places {
            if self.nodes[place].holds(&self.model.jobs, owner, part) {
                choices.push((Vec::new(), place));
                continue;
            }
            let mut sets = Vec::new();
            let mut chosen = Vec::new();
            with_more |=
                self.find_lift_sets((owner, part, place), left, (0, &mut chosen), &mut sets);
            choices.extend(sets.into_iter().map(|set| (set, place)));
        }
        choices.sort_by_cached_key(|(lift, place)| {
            let lost = lift.iter().map(|owner| self.model.jobs[*owner].lost_gpu_minutes);
            (lift.len(), lost.sum::<u64>(), self.nodes[*place].free, *place)
        });
        (choices, with_more)
    }

    /// The smallest sets of at most `left` jobs on a node without which it holds the part. Also
    /// returns whether there may be larger ones.
    fn find_lift_sets(
        &mut self,
        (owner, part, place): (Owner, &Amounts, usize),
        left: u32,
        (from, chosen): (usize, &mut Vec<Owner>),
        sets: &mut Vec<Vec<Owner>>,
    ) -> bool {
        if self.count_trial_is_over() {
            return true;
        }
        let holds = |gone: &[Owner]| {
            let without = self.node_without_jobs(place, gone);
            without.holds(&self.model.jobs, owner, part)
        };
        if holds(chosen) {
            let others = |at: usize| {
                let mut others = chosen.clone();
                others.remove(at);
                others
            };
            if !(0..chosen.len()).any(|at| holds(&others(at))) {
                sets.push(chosen.clone());
            }
            return false;
        }
        let present = self.nodes[place].present.clone();
        if chosen.len() >= left as usize {
            // Only if more would help.
            return holds(&present);
        }
        let mut with_more = false;
        for at in from..present.len() {
            let kind = |at: usize| self.model.jobs[present[at]].kind;
            // Of interchangeable jobs, the first are lifted first.
            let is_passed = at > from && kind(at) == kind(at - 1);
            if is_passed {
                continue;
            }
            chosen.push(present[at]);
            with_more |= self.find_lift_sets((owner, part, place), left, (at + 1, chosen), sets);
            chosen.pop();
        }
        with_more
    }

    /// The node without these jobs.
    fn node_without_jobs(&self, place: usize, gone: &[Owner]) -> Node {
        let mut node = self.nodes[place].clone();
        for owner in gone {
            self.lift_from(&mut node, place, *owner);
        }
        node
    }

    pub(super) fn lift_from(&self, node: &mut Node, place: usize, owner: Owner) {
        let held = self.model.jobs[owner].held.iter().filter(|(held, _)| *held == place);
        for (_, share) in held {
            node.lift(self.cluster.node(node.at), owner, share);
        }
    }
}
