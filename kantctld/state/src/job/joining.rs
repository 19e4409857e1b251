//! Nodes that a run is given while it runs: since when it has each of them, and which make ready
//! for it still. They are the last of its shares, before those it gives up, and all that are given
//! at once join at once. Never decides which.

use super::{Run, SharePhase};
use common::id::NodeName;
use common::job::Phase;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// When a share was given to a run that ran already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// When.
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

    /// These join it.
    pub(crate) fn give(&mut self, more: &[Share], now: Time) {
        let mut all = self.allocation.shares().to_vec();
        all.extend_from_slice(more);
        let Ok(all) = Allocation::new(all) else { return };
        self.allocation = Arc::new(all);
        let began = self.running_at.unwrap_or(self.allocated_at);
        let after = Span(now.since(began).0.saturating_sub(self.suspended.0));
        for _ in more {
            self.shares.push(SharePhase::Unreported);
            self.grown.push(Given { at: now, after });
            self.joining = self.joining.saturating_add(1);
        }
    }
}

/// May a run of this phase be given nodes? It runs, and none of them comes or goes or is over.
#[must_use]
pub fn may_grow(phase: Phase, run: &Run) -> bool {
    phase == Phase::Running && run.shares.iter().all(|share| *share == SharePhase::Running)
}
