//! A backup: the whole replicated state in one file, made while the cluster runs, and read by
//! `kantctld restore`. It has no job output, no keys and no files of nodes.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `kantback` |
//! | 8..12 | format version, little endian |
//! | 12..16 | length of the head, little endian |
//! | .. | the head: JSON, readable by people |
//! | .. | the state, as `state::persist` writes it |
//! | last 4 | CRC-32 of everything before, little endian |

use common::id::{ClusterId, ControllerId, LogIndex};
use common::time::Time;
use serde::{Deserialize, Serialize};

/// The version written, and the only one read.
pub const FORMAT: u32 = 1;

const MARK: &[u8; 8] = b"kantback";
/// The largest valid head.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// The origin of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// A restored cluster gets a new id.
    pub cluster: ClusterId,
    pub name: String,
    /// The highest controller id assigned so far.
    pub last_controller: ControllerId,
    /// The addresses of the controllers; a restore first checks that none of them runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<String>,
    /// The last entry in the backup; it may have later ones.
    pub applied: LogIndex,
    /// The cluster time of the backup.
    pub at: Time,
    pub release: String,
}

/// Why a backup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("failed to read the backup: the file is no backup of kant; check its name")]
    NoBackup,
    #[error(
        "failed to read the backup: it has format {found}, this release reads {FORMAT}: restore it \
         with the release that made it"
    )]
    Format { found: u32 },
    /// Bytes are missing or changed.
    #[error("failed to read the backup: it is damaged or truncated; use another one")]
    Damaged,
    #[error("failed to read the state in the backup")]
    State(#[from] state::persist::PersistError),
    /// Does not happen with the fields of a head.
    #[error("failed to write the backup's head")]
    Head(#[source] serde_json::Error),
}

/// Encodes a backup.
///
/// # Errors
/// [`BackupError::State`] and [`BackupError::Head`], in theory.
pub fn to_bytes(head: &Head, state: &state::State) -> Result<Vec<u8>, BackupError> {
    let head = serde_json::to_vec_pretty(head).map_err(BackupError::Head)?;
    let head_bytes = u32::try_from(head.len()).map_err(|_| BackupError::Damaged)?;
    let state = state::persist::to_bytes(state)?;
    let mut bytes = Vec::with_capacity(20 + head.len() + state.len());
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&head_bytes.to_le_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&state);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// Decodes a backup: its head, and the bytes of a valid state.
///
/// # Errors
/// [`BackupError`] for anything that [`to_bytes`] did not write.
pub fn from_bytes(bytes: &[u8]) -> Result<(Head, Vec<u8>), BackupError> {
    let rest = bytes.strip_prefix(MARK).ok_or(BackupError::NoBackup)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(BackupError::NoBackup)?;
    let found = u32::from_le_bytes(*version);
    if found != FORMAT {
        return Err(BackupError::Format { found });
    }
    let (whole, sum) = bytes.split_last_chunk::<4>().ok_or(BackupError::Damaged)?;
    if crc32fast::hash(whole) != u32::from_le_bytes(*sum) {
        return Err(BackupError::Damaged);
    }
    let (length, _) = rest.split_first_chunk::<4>().ok_or(BackupError::Damaged)?;
    let length = u32::from_le_bytes(*length) as usize;
    // Mark, version and length take 16 bytes; `whole` excludes the checksum.
    let body = whole.get(16..).filter(|_| length <= HEAD_BYTES_MAX).ok_or(BackupError::Damaged)?;
    let (head, state) = body.split_at_checked(length).ok_or(BackupError::Damaged)?;
    let head = serde_json::from_slice(head).map_err(|_| BackupError::Damaged)?;
    state::persist::from_bytes(state)?;
    Ok((head, state.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            cluster: ClusterId(0xcafe),
            name: "alpha".to_owned(),
            last_controller: ControllerId(3),
            controllers: vec!["a:7600".to_owned()],
            applied: LogIndex(99),
            at: Time(1_000),
            release: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_backup_can_be_read_back() {
        let bytes = to_bytes(&head(), &state::State::default()).unwrap();
        let (read, state) = from_bytes(&bytes).unwrap();
        assert_eq!(read, head());
        assert_eq!(state::persist::from_bytes(&state).unwrap(), state::State::default());
    }

    #[test]
    fn all_damage_is_detected_and_described() {
        let bytes = to_bytes(&head(), &state::State::default()).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(from_bytes(&damaged).is_err(), "byte {at}");
            assert!(from_bytes(&bytes[..at]).is_err(), "truncated at {at}");
        }
        let message = |bytes: &[u8]| from_bytes(bytes).unwrap_err().to_string();
        assert!(message(b"#!/bin/sh").contains("no backup of kant"));
        assert!(message(b"kantback\x09\0\0\0....").contains("format 9"));
        assert!(message(&bytes[..bytes.len() - 1]).contains("damaged"));
    }
}
