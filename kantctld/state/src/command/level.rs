//! The rules levels of this build. What `apply` does changes only with a level:
//!
//! 1. Raise [`LEVELS`]`.newest`, and say in the table what the level adds.
//! 2. Give a new command, and a command with a new field set, the level in [`Command::level`]: the
//!    leader proposes it only in a cluster that applies the level.
//! 3. Let `apply` do anything else that is new only if [`State::rules_level`] has reached the
//!    level. New fields of the state keep their defaults until then, and are left out when they
//!    have them.
//!
//! | level | what it adds |
//! |---|---|
//! | 1 | the first release, with roles |
//!
//! Builds before the first release differ in level 1: all controllers are stopped for an upgrade
//! from one.
//!
//! [`State::rules_level`]: crate::State::rules_level

use super::Command;
use common::rules_level::{RulesLevel, RulesLevels};

/// The newest level of this build.
const NEWEST: RulesLevel = if cfg!(feature = "next-rules") { NEXT } else { RulesLevel::FIRST };

/// The level of the release after this one, as far as the test of a rolling upgrade needs it: a
/// command, a field of the state, and another effect of a submission.
pub(crate) const NEXT: RulesLevel = RulesLevel(RulesLevel::FIRST.0 + 1);

/// The levels that this build can apply.
pub const LEVELS: RulesLevels = RulesLevels { oldest: RulesLevel::FIRST, newest: NEWEST };

impl Command {
    /// The lowest level at which `apply` understands this command with all its fields.
    #[must_use]
    pub const fn level(&self) -> RulesLevel {
        match self {
            Self::RaiseRules { to } => *to,
            #[cfg(feature = "next-rules")]
            Self::DrainWithNote { .. } => NEXT,
            _ => RulesLevel::FIRST,
        }
    }
}
