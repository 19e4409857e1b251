//! The serialized state, for raft snapshots: a magic number, the rules level, then MessagePack with
//! named fields, so that a later release may add fields. Equal states give equal bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `kantstat` |
//! | 8..12 | the rules level in force, little endian |
//! | 12.. | the state |

use crate::command::LEVELS;
use crate::state::State;
use common::rules_level::{RulesLevel, RulesLevels, UnknownLevel};
use std::io;

/// The size of the pieces that are added to a checksum.
const SUM_BYTES: usize = 64 << 10;

const MARK: &[u8; 8] = b"kantstat";

/// The bytes are not a state, or the state could not be serialized.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// The bytes do not begin with the magic number and a level.
    #[error("failed to read the state: these {0} bytes do not begin like one")]
    NoState(usize),
    /// A newer release wrote it, or one so old that this one does not know it any more.
    #[error("failed to read the state")]
    Level(#[source] UnknownLevel),
    #[error("failed to read the state: it is damaged")]
    Decode(#[source] rmp_serde::decode::Error),
    /// Does not happen with the contents of a state.
    #[error("failed to write the state")]
    Encode(#[source] rmp_serde::encode::Error),
}

/// Serializes a state.
///
/// # Errors
/// [`PersistError::Encode`], in theory.
pub fn to_bytes(state: &State) -> Result<Vec<u8>, PersistError> {
    let mut bytes = head(state);
    rmp_serde::encode::write_named(&mut bytes, state).map_err(PersistError::Encode)?;
    Ok(bytes)
}

/// A checksum of the serialized state: CRC-32 (IEEE). Replicas compare it.
///
/// # Errors
/// [`PersistError::Encode`], in theory.
pub fn checksum(state: &State) -> Result<u32, PersistError> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head(state));
    // Many writes are of a few bytes.
    let mut sum = io::BufWriter::with_capacity(SUM_BYTES, Sum(&mut hasher));
    rmp_serde::encode::write_named(&mut sum, state).map_err(PersistError::Encode)?;
    drop(sum);
    Ok(hasher.finalize())
}

/// What comes before the state.
fn head(state: &State) -> Vec<u8> {
    let level = u32::from(state.rules_level().0);
    [MARK.as_slice(), &level.to_le_bytes()].concat()
}

/// The rules level of a serialized state.
///
/// # Errors
/// [`PersistError::NoState`].
pub fn level_of(bytes: &[u8]) -> Result<RulesLevel, PersistError> {
    split(bytes).map(|(level, _)| level)
}

/// Deserializes a state.
///
/// # Errors
/// [`PersistError`] if the bytes are not from [`to_bytes`], or of a level that this build does not
/// know.
pub fn from_bytes(bytes: &[u8]) -> Result<State, PersistError> {
    from_bytes_with_levels(bytes, LEVELS)
}

/// The same for a build that knows these levels.
///
/// # Errors
/// As for [`from_bytes`].
pub fn from_bytes_with_levels(bytes: &[u8], known: RulesLevels) -> Result<State, PersistError> {
    let (needs, body) = split(bytes)?;
    known.check(needs).map_err(PersistError::Level)?;
    let mut state: State = rmp_serde::from_slice(body).map_err(PersistError::Decode)?;
    state.build_indexes();
    Ok(state)
}

fn split(bytes: &[u8]) -> Result<(RulesLevel, &[u8]), PersistError> {
    let no_state = || PersistError::NoState(bytes.len());
    let rest = bytes.strip_prefix(MARK).ok_or_else(no_state)?;
    let (level, body) = rest.split_first_chunk::<4>().ok_or_else(no_state)?;
    let level = u8::try_from(u32::from_le_bytes(*level)).map_err(|_| no_state())?;
    Ok((RulesLevel(level), body))
}

/// Adds up what is written to it.
struct Sum<'a>(&'a mut crc32fast::Hasher);

impl io::Write for Sum<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_state_is_refused_by_name() {
        let message = |bytes: &[u8]| from_bytes(bytes).unwrap_err().to_string();
        assert!(message(b"").contains("do not begin like one"));
        assert!(message(b"kantstat").contains("do not begin like one"));
        assert!(message(b"kantstat\xff\0\0\0").contains("failed to read the state"));
        let error = from_bytes(b"kantstat\xff\0\0\0").unwrap_err();
        let PersistError::Level(unknown) = error else { panic!("{error}") };
        assert!(unknown.to_string().contains("needs rules level 255"), "{unknown}");
        assert!(message(b"kantstat\x01\0\0\0\xff").contains("damaged"));
    }

    #[test]
    fn an_empty_state_is_read_back() {
        let state = State::default();
        let bytes = to_bytes(&state).unwrap();
        assert_eq!(from_bytes(&bytes).unwrap(), state);
        assert_eq!(level_of(&bytes).unwrap(), RulesLevel::FIRST);
        assert_eq!(checksum(&state).unwrap(), crc32fast::hash(&bytes));
    }
}
