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
//! | 1 | the first release |
//!
//! [`State::rules_level`]: crate::State::rules_level

use super::Command;
use common::rules_level::{RulesLevel, RulesLevels};

/// The levels that this build can apply.
pub const LEVELS: RulesLevels =
    RulesLevels { oldest: RulesLevel::FIRST, newest: RulesLevel::FIRST };

impl Command {
    /// The lowest level at which `apply` understands this command with all its fields.
    #[must_use]
    pub const fn level(&self) -> RulesLevel {
        match self {
            Self::RaiseRules { to } => *to,
            _ => RulesLevel::FIRST,
        }
    }
}
