//! What can go wrong with the log. Never decides what to do about it.

/// A request was not accepted, or nobody can say whether it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Somebody else leads, or nobody. The request is in no log and never will be.
    #[error("this controller does not lead: try again in a moment")]
    NotLeader,
    /// The lead was lost while the request was under way: whether it was accepted is unknown. A
    /// repeated submit with the same request key is safe.
    #[error("the lead changed hands meanwhile, it may have been accepted: try again in a moment")]
    Unknown,
    /// More waits already than the log takes in: the disk is full, or far too slow.
    #[error("the controller is busy, its disk may be full: try again in a moment")]
    Busy,
    /// The log is closing or has failed. Whether the request was accepted is unknown; a repeated
    /// submit with the same request key is safe.
    #[error("the controller is stopping: try again in a moment")]
    Stopped,
    /// A change of members makes no sense now.
    #[error(transparent)]
    Change(#[from] crate::change::ChangeRefusal),
}

/// The log store could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Wal(#[from] wal::Error),
    /// A record that passes its checksum but does not read.
    #[error("failed to decode {what} of the log: written by another version?")]
    Decode {
        what: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Nothing is here, and nobody said that a cluster begins here, or that this one joins.
    #[error("failed to open the log in {place}: it began once, and nothing is left of it")]
    Empty { place: String },
    /// A log is here already, and a cluster was to begin or be joined.
    #[error(
        "failed to begin a log in {place}: there is one already. Start kantctld plainly to go on \
         with it, or give the new one an empty directory"
    )]
    Taken { place: String },
    /// The log is of another cluster than the files beside it say.
    #[error("failed to open the log in {place}: it is of cluster {found}, not {expected}")]
    Foreign { place: String, found: common::id::ClusterId, expected: common::id::ClusterId },
}

/// What shows that a part of the log is lost which others rest on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The end of the log rotted, and was taken for a write that a crash cut short.
    #[error(
        "this log ends at entry {last}, and the leader had it from here that entry {held} is on \
         this disk"
    )]
    End {
        /// What was promised to be kept.
        held: u64,
        last: u64,
    },
    /// The same, found by a leader.
    #[error("this log ends at entry {last}, and controller {by} had entry {held} from here")]
    Sent { by: common::id::ControllerId, held: u64, last: u64 },
    #[error(
        "entry {index} was decided here, and the leader has another in its place: one of the two \
         lost it"
    )]
    Other {
        /// The first that differs.
        index: u64,
    },
}

/// The log cannot go on; the process must end.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Going on would break promises given.
    #[error(
        "a part of the log that was on the disk is lost, so this controller must not vote any \
         more: `kantctld rebuild --to HOST:PORT` makes it a new controller with a log from the \
         others, and moves this one aside"
    )]
    Lost(#[from] Loss),
    #[error("failed to keep the log")]
    Store(#[from] StoreError),
    #[error("failed to run consensus")]
    Raft(#[from] raft::Error),
    /// The machine could not read an entry.
    #[error("failed to apply log entry {index}: {reason}")]
    Apply { index: u64, reason: String },
    /// The machine could not be written down.
    #[error("failed to save the state at log entry {index}: {reason}")]
    Save {
        /// The last entry in it.
        index: u64,
        reason: String,
    },
    /// The thread could not be started.
    #[error("failed to start the log's thread")]
    Thread(#[from] std::io::Error),
}

pub(crate) fn decode_error<E>(what: &'static str) -> impl FnOnce(E) -> StoreError
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| StoreError::Decode { what, source: Box::new(source) }
}
