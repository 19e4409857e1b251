//! Earlier attempts of an element, before the current one.

use super::Run;
use common::id::Attempt;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// The maximum number of earlier attempts that are kept.
pub const EARLIER_MAX: usize = 8;

/// Earlier attempts, the oldest first. Boxed, since most elements have none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Past(pub Vec<Earlier>);

/// An earlier attempt, after which the element was requeued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    pub attempt: Attempt,
    /// The attempt, whose end is set.
    pub run: Run,
    /// When it was recorded that every node had released it.
    pub over_at: Time,
}
