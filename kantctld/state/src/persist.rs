//! The serialized state, for raft snapshots: a magic number, a format version, then MessagePack
//! with named fields, so that a later version may add fields. Equal states give equal bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `kantstat` |
//! | 8..12 | format version, little endian |
//! | 12.. | the state |

use crate::state::State;

/// The version that is written, and the only one that is read. A later release also reads the
/// version of its predecessor.
pub const FORMAT: u32 = 1;

const MARK: &[u8; 8] = b"kantstat";

/// The bytes are not a state, or the state could not be serialized.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// The bytes do not begin with the magic number.
    #[error("failed to read the state: these {0} bytes do not begin like one")]
    NoState(usize),
    /// The bytes were written by another version.
    #[error(
        "failed to read the state: it has format {found}, this version reads {FORMAT}: \
         start the version that wrote it, or the one between"
    )]
    Format { found: u32 },
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
    let mut bytes = Vec::new();
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    rmp_serde::encode::write_named(&mut bytes, state).map_err(PersistError::Encode)?;
    Ok(bytes)
}

/// Deserializes a state.
///
/// # Errors
/// [`PersistError`] if the bytes are not from [`to_bytes`] of this version.
pub fn from_bytes(bytes: &[u8]) -> Result<State, PersistError> {
    let no_state = || PersistError::NoState(bytes.len());
    let rest = bytes.strip_prefix(MARK).ok_or_else(no_state)?;
    let (version, body) = rest.split_first_chunk::<4>().ok_or_else(no_state)?;
    let found = u32::from_le_bytes(*version);
    if found != FORMAT {
        return Err(PersistError::Format { found });
    }
    let mut state: State = rmp_serde::from_slice(body).map_err(PersistError::Decode)?;
    state.index();
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_state_is_refused_by_name() {
        let message = |bytes: &[u8]| from_bytes(bytes).unwrap_err().to_string();
        assert!(message(b"").contains("do not begin like one"));
        assert!(message(b"kantstat").contains("do not begin like one"));
        assert!(message(b"kantstat\x09\0\0\0").contains("format 9"));
        assert!(message(b"kantstat\x01\0\0\0\xff").contains("damaged"));
    }

    #[test]
    fn an_empty_state_is_read_back() {
        let state = State::default();
        assert_eq!(from_bytes(&to_bytes(&state).unwrap()).unwrap(), state);
    }
}
