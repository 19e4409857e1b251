//! Errors of the log, worded for operators. `Wal` decides which of them close the log.

use std::io;

use crate::entry::Index;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed. The log is closed after this: restart to find out what survived.
    #[error("failed to {action} {file}")]
    Io {
        /// For example read, write or sync.
        action: &'static str,
        file: String,
        #[source]
        source: io::Error,
    },
    /// The disk is full. Nothing was changed, and the call may be repeated.
    #[error("failed to write {file}: no space left on the disk; free some space, then try again")]
    NoSpace {
        file: String,
        #[source]
        source: io::Error,
    },
    /// Another process has the directory open.
    #[error(
        "failed to open the log: {file} is locked by another process; stop the other kantctld, or \
         give this one its own `state_dir`"
    )]
    Locked { file: String },
    /// The disk returned other data than was acknowledged.
    #[error(
        "failed to read {file} at byte {offset}: {reason}. The damaged part was acknowledged, so \
         this controller must not vote again"
    )]
    Corrupt {
        file: String,
        /// Where the damage begins.
        offset: u64,
        reason: String,
    },
    /// Written in another file format.
    #[error(
        "failed to read {file}: it has format {found}, and this kantctld reads only format \
         {known}; start the kantctld release that wrote it, or one that reads both"
    )]
    UnknownVersion { file: String, found: u32, known: u32 },
    /// A part of the directory is missing or inconsistent.
    #[error("failed to open the log in {file}: {reason}.")]
    Incomplete {
        /// The directory or file that shows it.
        file: String,
        reason: String,
    },
    /// The segment size in the options is invalid.
    #[error(
        "failed to open the log: a segment size of {asked} bytes is not a multiple of 8 between \
         512 and 4 GiB"
    )]
    SegmentSize { asked: u64 },
    /// An invalid call, which is a defect of the caller.
    #[error("failed to {action}: {reason}")]
    Refused {
        /// Verb and object.
        action: &'static str,
        /// The violated rule.
        reason: String,
    },
    /// The entry was compacted; a snapshot covers it.
    #[error("failed to read entry {index}: it was compacted, the log begins at {first}")]
    Compacted {
        index: Index,
        /// The first index in the log.
        first: Index,
    },
    /// The entry is not in the log yet.
    #[error("failed to read entry {index}: the log ends at {last}")]
    Unavailable {
        index: Index,
        /// The last index in the log.
        last: Index,
    },
    /// An earlier disk failure closed the log.
    #[error(
        "failed to use the log: it was closed after \"{cause}\"; what reached the disk is unknown \
         until kantctld is started again"
    )]
    Poisoned { cause: String },
}

impl Error {
    /// A failed write, create, rename or remove; a full disk is distinguished from a failed one.
    pub(crate) fn write_failed(action: &'static str, file: String, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::NoSpace { file, source }
            }
            _ => Error::Io { action, file, source },
        }
    }

    /// A failed read or sync; never "no space", because after a failed fsync nothing is known.
    pub(crate) fn disk_failed(action: &'static str, file: String, source: io::Error) -> Error {
        Error::Io { action, file, source }
    }

    pub(crate) fn refused(action: &'static str, reason: impl Into<String>) -> Error {
        Error::Refused { action, reason: reason.into() }
    }
}
