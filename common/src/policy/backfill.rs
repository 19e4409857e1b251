//! How jobs without room are promised a start, and who may pass them. Never books anything;
//! `engine::backfill` does.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// What a reservation keeps for its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationKind {
    /// Enough nodes, whichever they turn out to be (classic EASY).
    #[default]
    Floating,
    Pinned,
}

/// In which order jobs behind a reservation are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// In the queue's order.
    InOrder,
    /// The shortest time limit first, among jobs of equal priority (queue, QoS, nice). In a
    /// multifactor queue they go in order all the same.
    #[default]
    ShortestFirst,
}

/// Backfill of one queue. Depth 1 is EASY; depth 0, for every job, is conservative backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backfill {
    /// So many jobs without room get a reservation each round; 0: all of them.
    pub depth: u32,
    /// What a reservation keeps. With a depth other than 1 they are always pinned.
    pub reservation: ReservationKind,
    /// Who is tried first behind a reservation.
    pub candidates: Candidates,
    /// When the first job of the queue has waited longer than this, preemptible jobs that passed
    /// it yield, fewest GPU-seconds lost first. `None`: never.
    pub head_timeout: Option<Span>,
}

impl Default for Backfill {
    fn default() -> Self {
        Self {
            depth: 1,
            reservation: ReservationKind::Floating,
            candidates: Candidates::ShortestFirst,
            head_timeout: None,
        }
    }
}
