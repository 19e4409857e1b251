//! What holds for all queues of a fair round. Never a queue's own terms.

use super::world::Grace;
use common::time::Span;

/// What holds for all queues.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How strongly past use counts against surplus (k).
    pub usage_strength: f64,
    /// By how much a claimant's side may be fuller than a sibling's; at least 1.
    pub slack: f64,
    /// Which queues say how long jobs are safe from reclaim.
    pub method: super::runtime::Method,
    /// Safe from its own queue, where no queue says.
    pub preempt_min: Span,
    /// Safe from others, where no queue says.
    pub reclaim_min: Span,
    /// May somebody who yields be promised another place in the same round?
    pub may_move: bool,
    /// So many jobs are moved so that others have room, at most.
    pub moves_max: u32,
    /// Does who was given another place in a round keep that?
    pub moves_once: bool,
    /// Do others yield for more than the least of a job?
    pub may_grow: bool,
    /// Does a job that loses some of its tasks lose the last ones, whichever would do?
    pub last_first: bool,
    /// Gangs short of tasks are ended after this.
    pub stale_grace: Grace,
    /// So many searches for who has to yield in each step of a round.
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
