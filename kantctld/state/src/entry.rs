//! An entry of the log: its rules level in the first byte, then its commands in MessagePack, with
//! named fields.

use crate::command::{Command, Stamped};
use crate::state::State;
use common::rules_level::{RulesLevel, RulesLevels, TooEarly, UnknownLevel};

/// The bytes are not an entry that this build can apply.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("the entry is empty")]
    Empty,
    #[error(transparent)]
    Level(#[from] UnknownLevel),
    #[error("the entry is damaged")]
    Decode(#[from] rmp_serde::decode::Error),
    /// Does not happen with commands.
    #[error("failed to write the entry")]
    Encode(#[from] rmp_serde::encode::Error),
}

/// Checks that a command may be proposed to replicas with this state. The command that raises the
/// level may: the leader knows that all of them can apply it.
///
/// # Errors
/// [`TooEarly`].
pub fn check_level(state: &State, command: &Command) -> Result<(), TooEarly> {
    let (needs, level) = (command.level(), state.rules_level());
    match needs <= level || matches!(command, Command::RaiseRules { .. }) {
        true => Ok(()),
        false => Err(TooEarly { needs, level }),
    }
}

/// Encodes commands for replicas with this state.
///
/// # Errors
/// [`EntryError::Encode`], in theory.
pub fn pack(state: &State, batch: &[Stamped<Command>]) -> Result<Vec<u8>, EntryError> {
    let levels = batch.iter().map(|stamped| stamped.command.level());
    let level = levels.max().unwrap_or_default().max(state.rules_level());
    let mut bytes = vec![level.0];
    rmp_serde::encode::write_named(&mut bytes, batch)?;
    Ok(bytes)
}

/// The level of an entry. An empty one has none; it is refused when it is decoded.
#[must_use]
pub fn level_of(entry: &[u8]) -> RulesLevel {
    entry.first().copied().map_or(RulesLevel::FIRST, RulesLevel)
}

/// Decodes the commands of an entry, in a build that knows these levels.
///
/// # Errors
/// [`EntryError`].
pub fn unpack(entry: &[u8], known: RulesLevels) -> Result<Vec<Stamped<Command>>, EntryError> {
    let (level, body) = entry.split_first().ok_or(EntryError::Empty)?;
    known.check(RulesLevel(*level))?;
    Ok(rmp_serde::from_slice(body)?)
}
