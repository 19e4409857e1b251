//! Rules levels. A level numbers what the replicated state machine does: its commands, their fields
//! and their effects. All controllers of a cluster apply the same level, whatever release they run,
//! so that a cluster can be upgraded one controller at a time (docs/decisions/0019-upgrades.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One level. It is the first byte of each log entry, and in the header of each saved state.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct RulesLevel(pub u8);

impl RulesLevel {
    /// The level of a new cluster, before its leader raises it.
    pub const FIRST: Self = Self(1);
}

impl Default for RulesLevel {
    fn default() -> Self {
        Self::FIRST
    }
}

impl fmt::Display for RulesLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The levels that a build can apply: all from `oldest` to `newest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulesLevels {
    pub oldest: RulesLevel,
    pub newest: RulesLevel,
}

impl RulesLevels {
    /// Checks that a build with these levels can apply what needs this level.
    ///
    /// # Errors
    /// [`UnknownLevel`].
    pub fn check(self, needs: RulesLevel) -> Result<(), UnknownLevel> {
        match self.oldest <= needs && needs <= self.newest {
            true => Ok(()),
            false => Err(UnknownLevel { needs, known: self }),
        }
    }
}

impl fmt::Display for RulesLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => write!(f, "rules level {}", self.newest),
            false => write!(f, "rules levels {} to {}", self.oldest, self.newest),
        }
    }
}

/// A log entry or a saved state of a level that this build cannot apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it needs rules level {needs}, and this release applies {known}: install the release that the \
     other controllers run, then start kantctld again"
)]
pub struct UnknownLevel {
    pub needs: RulesLevel,
    pub known: RulesLevels,
}

/// A command that needs a higher level than the cluster applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this needs rules level {needs}, and the cluster applies level {level} until all controllers \
     run a release that knows the higher one: `kantctl admin upgrade status` shows which do not"
)]
pub struct TooEarly {
    pub needs: RulesLevel,
    pub level: RulesLevel,
}
