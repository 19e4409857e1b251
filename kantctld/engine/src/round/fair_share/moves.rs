//! Moves: running jobs change their places so that a waiting one has room. All of them must have a
//! place then, and none is moved twice in a round.
//!
//! Source: KAI Scheduler, consolidation. Reads: the budget of moves, what a job would lose, how
//! long it has run. Knobs: `[moves]`, `runtime_min`.
//!
//! Example: see [`crate::round::planner`], `moving`.

use super::candidates::Candidates;
use super::claim::{Claim, Lose};
use super::gang::Gang;
use super::round::FairRound;
use super::search::Search;
use crate::model::job::RunningJob;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::job::PreemptReason;
use common::time::Span;

/// The most candidates for one job.
const CANDIDATES_MAX: usize = 64;

impl<'a> FairRound<'a> {
    /// Moves others for a job. Returns whether its room is kept.
    pub(super) fn move_for(&mut self, gang: &Gang<'a>, claim: Claim) -> bool {
        let mut candidates =
            Candidates::new(&self.state, &self.accounts, claim, Lose::StoppedOrMoved);
        let accounts = &self.accounts;
        let mut left = CANDIDATES_MAX;
        let mut next = |state: &RoundState<'a>| {
            left = left.checked_sub(1)?;
            candidates.next(state, accounts)
        };
        let wanted = self.wanted(gang);
        let keys: Vec<JobKey> = gang.parts.iter().map(|(job, _)| job.key).collect();
        let found = self.state.without_own_bookings(&keys, |state| {
            Search::of_moves(state, wanted).find_fewest_victims(&mut next)
        });
        let most = self.moves_left as usize;
        let Some((victims, places)) = found.filter(|(victims, _)| victims.len() <= most) else {
            return false;
        };
        if !self.keep_rooms(gang, (&victims, &places), PreemptReason::Move) {
            return false;
        }
        let queue = claim.claimant.queue;
        self.accounts.tree.charge(queue, &gang.asks, !gang.is_preemptible, true);
        self.extra.entry(queue).or_default().push(gang.asks);
        true
    }
}

/// Whether a running job may be moved and is past its `runtime_min`.
pub(crate) fn may_move(state: &RoundState<'_>, job: &RunningJob) -> bool {
    // A job that can give up nodes is not stopped for a move: it would restart with its minimum.
    if job.nodes_min.is_some() || state.snapshot.may_move(job, state.now).is_none() {
        return false;
    }
    let path = std::iter::successors(state.queues.get(&job.queue), |queue| {
        state.queues.get(queue.parent.as_ref()?)
    });
    // Policies with a cycle of queues are refused; the bound only makes the walk finite.
    let mut safe = path.take(state.queues.len()).map(|queue| queue.preemption.runtime_min);
    let least = safe.find(|least| *least > Span::default()).unwrap_or_default();
    state.now.since(job.started_at) >= least
}
