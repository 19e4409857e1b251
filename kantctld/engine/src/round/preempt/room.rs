//! The place for a job if certain others were gone. Which others is decided in `victims`.
//!
//! Source: ours; a place that delays no reservation, is within quotas, and breaks no future claim.

use super::{Asker, Candidate};
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::shape::Placing;
use crate::model::usage_accounting::{Claim, UsageAccounting};
use crate::place::fit::gang::{Layout, lay_out};
use crate::place::placing::{Placed, with_chosen_devices};
use crate::place::trial::Checkpoint;
use crate::round::planner::RoundState;

/// The place of a job once its victims are gone.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub layout: Layout,
    pub claim: Claim,
}

pub(super) struct Search<'s, 'a> {
    pub state: &'s mut RoundState<'a>,
    pub asker: &'s Asker<'a>,
    /// The sides where it may go, in order, and the placement on each.
    pub sides: Vec<Placing>,
    /// The quotas without jobs that are leaving.
    pub quotas: UsageAccounting,
    pub trials_left: u32,
    /// Whether there is room once the jobs that leave anyway are gone.
    pub needs_no_victim: bool,
    /// The nodes that shadows looked at during trials.
    pub looked: Vec<NodeIndex>,
}

impl<'a> Search<'_, 'a> {
    /// The place for the job if these are gone. `None`: there is none, or there were too many
    /// trials.
    pub fn room_without(&mut self, victims: &[Candidate<'_>]) -> Option<Room> {
        let checkpoint = self.state.trial.checkpoint();
        self.state.release_all();
        for victim in victims {
            victim.nodes.iter().for_each(|(at, _)| self.state.trial.give_back(*at, victim.job.key));
        }
        let found = self.room_now(victims);
        self.go_back(checkpoint);
        found
    }

    pub fn go_back(&mut self, checkpoint: Checkpoint) {
        self.state.trial.roll_back(checkpoint);
        let looked = std::mem::take(&mut self.looked);
        self.state.update_shadows(&looked, NEVER);
    }

    /// The place for the job in the current trial, with these gone.
    pub fn room_now(&mut self, victims: &[Candidate<'_>]) -> Option<Room> {
        if self.trials_left == 0 || self.state.asks.trials_left == 0 {
            return None;
        }
        self.trials_left -= 1;
        self.state.asks.trials_left -= 1;
        let (layout, placed) = self.place()?;
        let shares = placed.shares_on();
        let (job, cluster) = (self.asker.job, self.state.trial.cluster);
        let claim =
            crate::model::claims::of_start(job, shares, cluster, &mut self.state.accounting);
        let mut quotas = self.quotas.clone();
        victims.iter().for_each(|victim| quotas.remove(victim.claim, victim.job.ends_by));
        let ends_by = job.time_limit.map(|limit| self.state.now + limit);
        let may_have = quotas.admit(&claim).is_ok()
            && quotas.is_within_quota_with(&claim)
            && self.state.broken_future_claim(job.key, &claim, self.state.now, ends_by).is_none();
        may_have.then_some(Room { layout, claim })
    }

    /// A place that delays no reservation, in the current trial.
    fn place(&mut self) -> Option<(Layout, Placed)> {
        let (job, shape) = (self.asker.job, &self.asker.shape);
        for side in self.sides.clone() {
            let mut avoid: Vec<bool> = Vec::new();
            for _ in 0..2 {
                let search = self.state.node_search_of(job, shape, side, &avoid);
                let Some(layout) = lay_out(&search) else { break };
                let placed = with_chosen_devices(&search, layout.clone());
                avoid = self.nodes_of_delayed(&placed);
                if avoid.is_empty() {
                    return Some((layout, placed));
                }
            }
        }
        None
    }

    /// The nodes that delayed reservations depend on; empty: none would be delayed.
    fn nodes_of_delayed(&mut self, placed: &Placed) -> Vec<bool> {
        if self.state.shadows.is_empty() {
            return Vec::new();
        }
        let (job, ends) = (self.asker.job, self.state.ends_by(self.asker.job.time_limit));
        let checkpoint = self.state.trial.checkpoint();
        for (at, holder) in placed.holders(job, ends) {
            self.state.trial.take(at, holder);
        }
        let hurt = self.state.harmed_shadows(&placed.nodes, ends);
        let cluster = self.state.trial.cluster;
        let counts_on = |at| hurt.iter().any(|which| self.state.shadows[*which].1.counts_on(at));
        let avoid = match hurt.is_empty() {
            true => Vec::new(),
            false => cluster.nodes().map(|(at, _)| counts_on(at)).collect(),
        };
        self.state.trial.roll_back(checkpoint);
        self.looked.extend(&placed.nodes);
        avoid
    }
}
