//! The result of a round: what to do, why the other jobs wait, and what the next round needs to
//! know.

use crate::model::decision::Decision;
use crate::model::resume_cursor::ResumeCursor;
use crate::model::snapshot::{Full, PlannedStart};
use crate::round::waits::Waits;
use common::id::JobKey;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Round {
    /// What to do, in this order. All decisions fit together: the judge (`check`) accepts them.
    pub decisions: Vec<Decision>,
    /// Promises to jobs that still wait. The caller passes them to the next round.
    pub planned_starts: BTreeMap<JobKey, PlannedStart>,
    /// Where this round stopped if it ran out of searches. The caller passes it to the next round.
    #[serde(default, skip_serializing_if = "ResumeCursor::is_empty")]
    pub resume_cursor: ResumeCursor,
    /// Which kinds of jobs found no room. The caller passes it to the next round.
    #[serde(skip)]
    pub full: Full,
    /// How many searches for nodes this round made.
    #[serde(skip)]
    pub searches: Cost,
    /// Why the other jobs wait.
    pub waits: Waits,
    /// If nothing changes, no round before this time decides anything else. `None`: no later round
    /// does.
    pub next_look: Option<Time>,
}

/// The cost of a round. All costs compare as equal, so that rounds with equal results are equal.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Cost(pub u64);

impl PartialEq for Cost {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
