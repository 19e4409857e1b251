//! Backfill settings: the planned starts of jobs without room, and the jobs that may start earlier.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The resources that a planned start reserves.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationKind {
    /// Enough nodes, whichever they are (classic EASY).
    #[default]
    Floating,
    Pinned,
}

/// The order in which jobs behind a planned start are tried.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// The order of the queue.
    InOrder,
    /// The shortest time limit first, among jobs of equal priority (queue, QoS, nice). A
    /// multifactor queue keeps its own order.
    ShortestFirst,
    /// The longest wait in relation to the time limit first, among jobs of equal priority. A
    /// multifactor queue keeps its own order.
    #[default]
    RelativeWait,
}

/// How long a waiting job is taken to run when it may start ahead of a planned start.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RunTimes {
    /// Its time limit.
    #[default]
    Limit,
    /// What earlier jobs of its user lead to expect, at most its time limit.
    Expected,
}

/// Backfill in one queue. Depth 1 is EASY; depth 0, all jobs, is conservative backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Backfill {
    /// The maximum number of jobs without room that get a planned start in each round; 0: no
    /// maximum.
    pub depth: u32,
    /// With a depth other than 1, nodes are always pinned.
    pub reservation: ReservationKind,
    pub candidates: Candidates,
    pub run_times: RunTimes,
    /// When the first job of the queue has waited longer than this, preemptible jobs that were
    /// backfilled ahead of it are preempted, those with the fewest GPU-seconds lost first. `None`:
    /// never.
    pub head_timeout: Option<Span>,
}

impl Backfill {
    /// Whether expected run times are read. With planned starts on certain nodes, they are not.
    #[must_use]
    pub fn uses_expected_times(&self) -> bool {
        let floats = self.depth == 1 && self.reservation == ReservationKind::Floating;
        floats && self.run_times == RunTimes::Expected
    }
}

impl Default for Backfill {
    fn default() -> Self {
        Self {
            depth: 1,
            reservation: ReservationKind::Floating,
            candidates: Candidates::RelativeWait,
            run_times: RunTimes::Limit,
            head_timeout: None,
        }
    }
}
