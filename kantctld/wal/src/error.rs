//! Everything that can go wrong with the log, in words an operator can act on.
//! It never decides what to do about it; `Wal` alone decides what poisons it.

use std::io;

use crate::entry::Index;

/// Result of a log operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a log operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk refused. The log is closed for good after this: restart to find out what survived.
    #[error("failed to {action} {file}")]
    Io {
        /// The verb: read, write, sync ...
        action: &'static str,
        /// The file it happened to.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The disk is full. Nothing was changed; the same call may be made again.
    #[error("failed to write {file}: no space left on the disk; free some, then try again")]
    NoSpace {
        /// The file that did not fit.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process has the directory open.
    #[error(
        "failed to open the log: {file} is held by another process; stop the other kantctld, or \
         give this one its own `state_dir`"
    )]
    Locked { file: String },
    /// The disk gave back something other than what was promised to be kept.
    #[error(
        "failed to read {file} at byte {offset}: {reason}. The damaged part had been acknowledged, \
         so this controller must not vote again"
    )]
    Corrupt {
        file: String,
        /// Where in it the damage begins.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// Written by a release with another file format.
    #[error(
        "failed to read {file}: it has format {found} and this kantctld knows only format {known}; \
         start the kantctld release that wrote it, or an upgrade that names it as readable"
    )]
    UnknownVersion { file: String, found: u32, known: u32 },
    /// Part of the directory is gone, or does not fit the rest.
    #[error("failed to open the log in {file}: {reason}.")]
    Incomplete {
        /// The directory or file that shows it.
        file: String,
        reason: String,
    },
    /// The segment size in the options cannot be used.
    #[error(
        "failed to open the log: a segment size of {asked} bytes is not a multiple of 8 between \
         512 and 4 GiB"
    )]
    SegmentSize {
        /// What was asked for, in bytes.
        asked: u64,
    },
    /// The caller asked for, or wrote, something the log cannot hold: a bug above.
    #[error("failed to {action}: {reason}")]
    Refused {
        /// The verb and its object.
        action: &'static str,
        /// Which rule it broke.
        reason: String,
    },
    /// The entry was compacted away; a snapshot covers it.
    #[error("failed to read entry {index}: compacted, the log begins at {first}")]
    Compacted {
        /// What was asked for.
        index: Index,
        /// The first index still here.
        first: Index,
    },
    /// The entry is not here yet.
    #[error("failed to read entry {index}: the log ends at {last}")]
    Unavailable {
        /// What was asked for.
        index: Index,
        /// The last index here.
        last: Index,
    },
    /// An earlier disk failure closed the log.
    #[error(
        "failed to use the log: closed after \"{cause}\"; what reached the disk is unknown until \
         kantctld is started again"
    )]
    Poisoned { cause: String },
}

impl Error {
    /// A failed write, create, rename or remove: a full disk is told apart from a broken one.
    pub(crate) fn write(action: &'static str, file: String, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::NoSpace { file, source }
            }
            _ => Error::Io { action, file, source },
        }
    }

    /// A failed read or sync: never "just full", since after a failed fsync nothing is known.
    pub(crate) fn fatal(action: &'static str, file: String, source: io::Error) -> Error {
        Error::Io { action, file, source }
    }

    pub(crate) fn refused(action: &'static str, reason: impl Into<String>) -> Error {
        Error::Refused { action, reason: reason.into() }
    }
}
