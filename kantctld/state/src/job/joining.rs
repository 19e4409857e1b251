//! Nodes that a run is given while it runs: since when it has each of them, and which make ready
//! for it still. They are the last of its shares, before those it gives up, and all that are given
//! at once join at once. Never decides which.

use super::{Run, SharePhase};
use common::id::NodeName;
use common::job::Phase;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// So long it is given no more nodes after one failed to join it; twice as long after the next.
const JOIN_BACKOFF: Span = Span::from_minutes(1);

/// After so many in a row it is given none any more: it is likely to be what fails.
const JOIN_FAILURES_MAX: u32 = 3;

/// When a share was given to a run that ran already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub at: Time,
    /// How long it had run by then, standing still not counted.
    pub after: Span,
}

impl Run {
    /// When the share of this rank was given to it while it ran; `None`: it began with it.
    #[must_use]
    pub fn given_later(&self, rank: usize) -> Option<Given> {
        let first = self.allocation.shares().len().checked_sub(self.grown.len())?;
        self.grown.get(rank.checked_sub(first)?).copied()
    }

    /// The same, by its node.
    #[must_use]
    pub fn given_later_to(&self, node: &NodeName) -> Option<Given> {
        // Nearly always none was: a large allocation is not searched for it.
        if self.grown.is_empty() {
            return None;
        }
        self.given_later(self.rank(node)?)
    }

    /// Since when it has the share of this rank.
    #[must_use]
    pub fn since(&self, rank: usize) -> Time {
        self.given_later(rank).map_or(self.allocated_at, |given| given.at)
    }

    /// The ranks of those that join it.
    #[must_use]
    pub fn joiners(&self) -> Range<usize> {
        let stays = self.shares.iter().filter(|share| **share != SharePhase::Leaving).count();
        stays.saturating_sub(self.joining as usize)..stays
    }

    /// The nodes that join it, in rank order.
    pub fn joining(&self) -> impl Iterator<Item = &NodeName> + '_ {
        let all = self.allocation.shares().get(self.joiners());
        all.unwrap_or_default().iter().map(|share| &share.node)
    }

    /// What its programs are to know of: all that it goes on with but what joins it.
    #[must_use]
    pub fn settled(&self) -> Arc<Allocation> {
        let settled = self.allocation.shares().get(..self.joiners().start).unwrap_or_default();
        match settled.len() == self.allocation.shares().len() {
            true => self.allocation.clone(),
            false => Allocation::new(settled.to_vec()).map_or_else(|_| self.staying(), Arc::new),
        }
    }

    /// What joins it from this rank on is not to.
    pub(crate) fn turn_away(&mut self, from: usize) {
        let joiners = self.joiners();
        let from = from.clamp(joiners.start, joiners.end);
        self.joining = u32::try_from(from - joiners.start).unwrap_or(u32::MAX);
        self.joins_less |= from < joiners.end;
        for rank in (from..joiners.end).rev() {
            match self.shares[rank].is_over() {
                true => self.drop_share(rank),
                false => self.shares[rank] = SharePhase::Leaving,
            }
        }
    }

    /// A node failed to join it: it is given others later, each time twice as late.
    pub(crate) fn failed_to_join(&mut self, now: Time) {
        let times = 1_u64 << self.join_failures.min(JOIN_FAILURES_MAX);
        self.join_failures = self.join_failures.saturating_add(1);
        self.grows_after = Some(now + Span(JOIN_BACKOFF.0 * times));
    }

    /// So many tasks it may have in this attempt, of those it asked for.
    #[must_use]
    pub fn grows_to(&self, asked: Tasks) -> Tasks {
        self.tasks_max.map_or(asked, |most| most.min(asked))
    }

    /// All that joins it runs it: it has another size. Whoever was told of more nodes in its order
    /// is told anew, by a number that is above the order's.
    pub(crate) fn has_joined(&mut self) {
        self.joining = 0;
        if !self.joins_less {
            (self.join_failures, self.grows_after) = (0, None);
        }
        let next = 1 + u32::from(std::mem::take(&mut self.joins_less));
        self.resized = self.resized.saturating_add(next);
    }

    pub(crate) fn give(&mut self, more: &[Share], now: Time) {
        let mut all = self.allocation.shares().to_vec();
        all.extend_from_slice(more);
        let Ok(all) = Allocation::new(all) else { return };
        self.allocation = Arc::new(all);
        let began = self.running_at.unwrap_or(self.allocated_at);
        let after = Span(now.since(began).0.saturating_sub(self.suspended.0));
        self.joins_less = false;
        for _ in more {
            self.shares.push(SharePhase::Unreported);
            self.grown.push(Given { at: now, after });
            self.joining = self.joining.saturating_add(1);
        }
    }
}

/// May a run of this phase be given nodes, once it is time? It runs, none of them comes or goes or
/// is over, and nodes did join it when it was given some.
#[must_use]
pub fn may_grow(phase: Phase, run: &Run) -> bool {
    phase == Phase::Running
        && run.join_failures < JOIN_FAILURES_MAX
        && run.shares.iter().all(|share| *share == SharePhase::Running)
}
