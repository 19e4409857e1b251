//! The settings of a fair-sharing round that apply to all queues.

use super::world::Grace;
use common::time::Span;

#[derive(Debug, Clone)]
pub struct Settings {
    /// How strongly past use lowers a queue's part of the surplus (k).
    pub usage_strength: f64,
    /// How much fuller than a sibling the claimant's side may be; a factor of at least 1.
    pub slack: f64,
    /// Which queues set the protection from reclaim.
    pub method: super::runtime::Method,
    /// Protection from its own queue, where no queue sets it.
    pub preempt_min: Span,
    /// Protection from other queues, where no queue sets it.
    pub reclaim_min: Span,
    /// Whether a victim may get another place in the same round.
    pub may_move: bool,
    /// At most this many jobs are moved to make room for others.
    pub moves_max: u32,
    /// Whether a job that was given another place in a round keeps it.
    pub moves_once: bool,
    /// Whether others yield for more than the minimum of a job.
    pub may_grow: bool,
    /// Whether a job that loses some of its tasks loses the last ones, even if others would do.
    pub last_first: bool,
    /// After this time, gangs short of tasks are ended.
    pub stale_grace: Grace,
    /// At most this many searches for victims in each step of a round.
    pub trials_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            usage_strength: 0.0,
            slack: 1.0,
            method: super::runtime::Method::Lca,
            preempt_min: Span(0),
            reclaim_min: Span(0),
            may_move: true,
            moves_max: u32::MAX,
            moves_once: false,
            may_grow: true,
            last_first: false,
            stale_grace: Grace::For(Span::from_seconds(60)),
            trials_max: 200_000,
        }
    }
}
