//! Errors of the log.

use common::id::{ClusterId, ControllerId};
use common::rules_level::{TooEarly, UnknownLevel};

/// Why a request was not accepted, or why its outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Another controller leads, or none. The request is in no log.
    #[error("this controller does not lead: try again in a moment")]
    NotLeader,
    /// Leadership was lost while the request was in progress: it may have been accepted. A repeated
    /// submission with the same request key is safe.
    #[error("the leader changed, and the request may have been accepted: try again in a moment")]
    Unknown,
    /// Too many requests are queued: the disk is full or far too slow.
    #[error("the controller is busy, and its disk may be full: try again in a moment")]
    Busy,
    /// The log is closing or failed: the request may have been accepted. A repeated submission with
    /// the same request key is safe.
    #[error("the controller is stopping: try again in a moment")]
    Stopped,
    /// The cluster does not apply the rules level of the command yet.
    #[error(transparent)]
    TooEarly(#[from] TooEarly),
    /// The change of members is refused.
    #[error(transparent)]
    Change(#[from] ChangeRefusal),
}

/// Why a change of members is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    #[error(
        "another change of controllers is in progress: wait until it has ended, then try again"
    )]
    UnderWay,
    #[error("there is no controller {0}: `kantctl admin controller status` lists them")]
    Unknown(ControllerId),
    #[error("controller {0} is already a voter")]
    Votes(ControllerId),
    #[error("controller {0} is the last voter: add and promote another one first")]
    LastVoter(ControllerId),
    #[error(
        "controller {0} leads: transfer leadership with `kantctl admin controller transfer`, then \
         remove it"
    )]
    Leads(ControllerId),
    #[error("controller {id} lacks {behind} entries of the log: wait until it has caught up")]
    Behind { id: ControllerId, behind: u64 },
    #[error(
        "controller {id} already has the address {address}: if it is dead, run `kantctl admin \
         controller remove {id}` first; otherwise give this one another address (`listen` or \
         `advertise`)"
    )]
    AddressTaken { id: ControllerId, address: String },
    /// A member to be replaced still runs.
    #[error(
        "controller {0} is running and cannot be replaced: if its log is lost, stop it first; \
         otherwise this state directory is a copy of its, and an empty one is needed"
    )]
    Lives(ControllerId),
    #[error("the request names no change of controllers")]
    Nothing,
}

/// Errors of the log store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Wal(#[from] wal::Error),
    /// A record with a valid checksum that cannot be decoded.
    #[error("failed to decode {what} of the log: was it written by another version?")]
    Decode {
        what: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The directory has no log, and none is to be created.
    #[error("failed to open the log in {place}: the log that was there is missing")]
    Empty { place: String },
    /// A log exists where one was to be created.
    #[error(
        "failed to create a log in {place}: there already is one. Start kantctld to continue with \
         it, or give the new controller an empty directory"
    )]
    Taken { place: String },
    /// The log belongs to another cluster than the membership file.
    #[error("failed to open the log in {place}: it belongs to cluster {found}, not {expected}")]
    Foreign { place: String, found: ClusterId, expected: ClusterId },
}

/// Evidence that a part of the log that other members rely on is lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The end of the log is damaged, and was taken for an interrupted write.
    #[error(
        "this log ends at entry {last}, but this controller told the leader that entry {held} is \
         on this disk"
    )]
    End {
        /// The last entry acknowledged.
        held: u64,
        last: u64,
    },
    /// The same, found by the leader.
    #[error("this log ends at entry {last}, but controller {by} received entry {held} from here")]
    Sent { by: ControllerId, held: u64, last: u64 },
    #[error(
        "entry {index} was committed here, and the leader has a different one at this index: one \
         of the two lost it"
    )]
    Other {
        /// The first index that differs.
        index: u64,
    },
}

/// A fatal error: the process must end.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Continuing would break promises given to other members.
    #[error(
        "a part of the log on disk was lost, so this controller must no longer vote: \
         `kantctld rebuild --to HOST:PORT` makes it a new member with a log from the others, and \
         sets this log aside"
    )]
    Lost(#[from] Loss),
    /// A newer release wrote an entry. It was not accepted, or this controller ran that release
    /// before.
    #[error("failed to accept log entry {index}")]
    UnknownLevel {
        index: u64,
        #[source]
        source: UnknownLevel,
    },
    /// A fault of this host, or a defect.
    #[error(
        "the state of this controller after log entry {index} differs from that of the others, so \
         it must no longer vote: its memory or disk may be faulty. `kantctld rebuild --to \
         HOST:PORT` makes it a new member with a state from the others, and sets this log aside"
    )]
    Differs {
        /// The last entry of the compared states.
        index: u64,
    },
    #[error("failed to maintain the log")]
    Store(#[from] StoreError),
    #[error("failed to run consensus")]
    Raft(#[from] raft::Error),
    /// The machine could not decode an entry.
    #[error("failed to apply log entry {index}: {reason}")]
    Apply { index: u64, reason: String },
    #[error("failed to save the state at log entry {index}: {reason}")]
    Save {
        /// The last entry included.
        index: u64,
        reason: String,
    },
    #[error("failed to start the log's thread")]
    Thread(#[from] std::io::Error),
}

pub(crate) fn decode_error<E>(what: &'static str) -> impl FnOnce(E) -> StoreError
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| StoreError::Decode { what, source: Box::new(source) }
}
