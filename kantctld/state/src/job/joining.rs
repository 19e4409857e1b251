//! Nodes that a job gets while it runs: since when it has them, and which of them still prepare it.
//! Joining nodes have the last ranks before those of leaving nodes. All nodes that were given
//! together join together.

use super::{Run, SharePhase};
use common::id::NodeName;
use common::job::Phase;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// How long a job gets no more nodes after one failed to join. Each further failure doubles it.
const JOIN_BACKOFF: Span = Span::from_minutes(1);

/// The number of failures in a row after which a job gets no more nodes: the cause is probably the
/// job.
const JOIN_FAILURES_MAX: u32 = 3;

/// When a share was given to a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub at: Time,
    /// How long the job had run by then, without suspensions.
    pub after: Span,
}

impl Run {
    /// When the share of this rank was given to the running job; `None` if the job began with it.
    #[must_use]
    pub fn given_later(&self, rank: usize) -> Option<Given> {
        let first = self.allocation.shares().len().checked_sub(self.grown.len())?;
        self.grown.get(rank.checked_sub(first)?).copied()
    }

    /// The same for the share of this node.
    #[must_use]
    pub fn given_later_to(&self, node: &NodeName) -> Option<Given> {
        // A shortcut for most jobs, which saves a search in a large allocation.
        if self.grown.is_empty() {
            return None;
        }
        self.given_later(self.rank(node)?)
    }

    /// Since when the job has the share of this rank.
    #[must_use]
    pub fn since(&self, rank: usize) -> Time {
        self.given_later(rank).map_or(self.allocated_at, |given| given.at)
    }

    /// The ranks of the joining nodes.
    #[must_use]
    pub fn joining_ranks(&self) -> Range<usize> {
        let stays = self.shares.iter().filter(|share| **share != SharePhase::Leaving).count();
        stays.saturating_sub(self.joining as usize)..stays
    }

    /// The joining nodes, in rank order.
    pub fn joining(&self) -> impl Iterator<Item = &NodeName> + '_ {
        let all = self.allocation.shares().get(self.joining_ranks());
        all.unwrap_or_default().iter().map(|share| &share.node)
    }

    /// The allocation that the job's programs may know of: without joining and leaving nodes.
    #[must_use]
    pub fn known_allocation(&self) -> Arc<Allocation> {
        let settled =
            self.allocation.shares().get(..self.joining_ranks().start).unwrap_or_default();
        match settled.len() == self.allocation.shares().len() {
            true => self.allocation.clone(),
            false => Allocation::new(settled.to_vec()).map_or_else(|_| self.staying(), Arc::new),
        }
    }

    /// Turns away the joining nodes from this rank on.
    pub(crate) fn turn_away(&mut self, from: usize) {
        let joiners = self.joining_ranks();
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

    /// Counts a failure to join. The job gets no more nodes for a time that doubles with each
    /// failure.
    pub(crate) fn count_join_failure(&mut self, now: Time) {
        let times = 1_u64 << self.join_failures.min(JOIN_FAILURES_MAX);
        self.join_failures = self.join_failures.saturating_add(1);
        self.grows_after = Some(now + Span(JOIN_BACKOFF.0 * times));
    }

    /// The maximum number of tasks in this attempt, given the job's own maximum.
    #[must_use]
    pub fn tasks_limit(&self, asked: Tasks) -> Tasks {
        self.tasks_max.map_or(asked, |most| most.min(asked))
    }

    /// Completes a join: all joining nodes run the job. The job has a new size, and its nodes are
    /// notified by a number above the one in the joining nodes' orders.
    pub(crate) fn complete_join(&mut self) {
        self.joining = 0;
        if !self.joins_less {
            (self.join_failures, self.grows_after) = (0, None);
        }
        let next = 1 + u32::from(std::mem::take(&mut self.joins_less));
        self.resized = self.resized.saturating_add(next);
    }

    pub(crate) fn add_joining_shares(&mut self, more: &[Share], now: Time) {
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

/// Whether a run may get more nodes, once the time has come: all of its shares run, so none joins,
/// leaves or has ended, and it had few failures to join.
#[must_use]
pub fn may_grow(phase: Phase, run: &Run) -> bool {
    phase == Phase::Running
        && run.join_failures < JOIN_FAILURES_MAX
        && run.shares.iter().all(|share| *share == SharePhase::Running)
}
