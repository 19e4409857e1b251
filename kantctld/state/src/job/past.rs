//! Attempts that are behind an element. Never the current one.

use super::Run;
use common::id::Attempt;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// So many earlier attempts of an element are kept.
pub const EARLIER_MAX: usize = 8;

/// Attempts that are behind their element, oldest first. Apart from it, since most have none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Past(pub Vec<Earlier>);

/// An attempt that is behind its element, which was requeued since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    pub attempt: Attempt,
    /// It; with an end.
    pub run: Run,
    /// When every node had let go of it.
    pub over_at: Time,
}
