//! Moves: running jobs change their places so that a waiting one has room. All of them must have a
//! place then, and none is moved twice in a round.
//!
//! Source: KAI Scheduler, consolidation. Reads: the budget of moves, what a job would lose, how
//! long it has run. Knobs: `[moves]`, `runtime_min`.
//!
//! Example: see [`crate::round::planner`], `moving`.

use super::candidates::{Candidates, Claim};
use super::gang::Gang;
use super::round::FairRound;
use super::search::Search;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::job::PreemptReason;

/// The most candidates for one job.
const CANDIDATES_MAX: usize = 64;

impl<'a> FairRound<'a> {
    /// Moves others for a job. Returns whether its room is kept.
    pub(super) fn move_for(&mut self, gang: &Gang<'a>, claim: Claim) -> bool {
        let mut candidates = Candidates::new(&self.state, &self.accounts, claim);
        let accounts = &self.accounts;
        let mut left = CANDIDATES_MAX;
        let mut next = |state: &RoundState<'a>| {
            left = left.checked_sub(1)?;
            candidates.next(state, accounts)
        };
        let wanted = self.wanted(gang);
        let keys: Vec<JobKey> = gang.parts.iter().map(|(job, _)| job.key).collect();
        let found = self
            .state
            .without_own(&keys, |state| Search::of_moves(state, wanted).fewest(&mut next));
        let most = self.moves_left as usize;
        let Some((victims, places)) = found.filter(|(victims, _)| victims.len() <= most) else {
            return false;
        };
        if !self.keep_rooms(gang, (&victims, &places), PreemptReason::Move) {
            return false;
        }
        self.accounts.tree.charge(claim.claimant.queue, &gang.asks, !gang.is_preemptible, true);
        true
    }
}
