//! Reasons why a command was refused: typed, with a stable code for programs and a sentence that
//! says what to do next.

mod checkpoint;
mod code;
mod invitation;
mod room;

pub use invitation::InvitationRefusal;
pub use room::NoRoom;

use super::WaitReason;
use super::sentence::level_text;
use crate::id::{AccountName, JobId, JobKey, NodeName, QosName, QueueName, ReservationName, Uid};
use crate::job::check::AskError;
use crate::job::{Outcome, Phase, SetPlace};
use crate::time::{Span, Time};
use crate::topology::Level;
use serde::{Deserialize, Serialize};

/// Why a command was refused. A refused command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no job {key}: see `kantctl queue --all`")]
    UnknownJob { key: JobKey },
    /// A component of a het job, which changes as a whole.
    #[error(
        "{n} is a component of {s}, which changes as a whole: name {s}",
        n = .0.name(), s = .0.first
    )]
    PartOfSet(SetPlace),
    #[error("job {job} belongs to user {owner}: only they and operators may do that")]
    NotYours { job: JobId, owner: String },
    #[error("user {uid} is not an operator: operators are listed in `admins` in kantctld.toml")]
    OperatorsOnly { uid: Uid },
    #[error(
        "root may not submit jobs: submit as a user, or set `allow_root_jobs` in kantctld.toml and \
         each kantd.toml"
    )]
    RootJob,
    #[error("cannot {verb} job {key}: it is {phase}")]
    WrongPhase { key: JobKey, verb: String, phase: Phase },
    /// A repeated cancel: nothing is left to do.
    #[error("job {key} is already ending")]
    AlreadyEnding { key: JobKey },
    #[error("cannot checkpoint job {key}: it is {phase}; {}", checkpoint::advice(*phase))]
    NothingToSave { key: JobKey, phase: Phase },
    #[error("cannot {verb} job {key}: it has ended ({outcome})")]
    AlreadyDone { key: JobKey, verb: String, outcome: Outcome },
    #[error("there is no queue `{name}`: there are {known}")]
    UnknownQueue { name: QueueName, known: String },
    #[error("queue {queue} allows at most {limit} (requested: {asked}): lower --time")]
    TimeLimitTooLong { queue: QueueName, limit: Span, asked: Span },
    #[error(
        "queue {queue} is not open to you{through}: name another with --queue (see `kantctl \
         queues`), or ask an operator"
    )]
    QueueClosed {
        /// The queue that excludes the user.
        queue: QueueName,
        /// Its relation to the named queue: empty, or ", and the queue you named is below it".
        through: String,
    },
    #[error("there is no QoS `{name}`: {known}")]
    UnknownQos {
        name: QosName,
        /// The existing ones, as the end of a sentence.
        known: String,
    },
    #[error("QoS {name} is not open to you: leave --qos out, or ask an operator")]
    QosClosed { name: QosName },
    #[error("QoS {name} allows at most {limit} (requested: {asked}): lower --time")]
    QosTimeLimit { name: QosName, limit: Span, asked: Span },
    #[error("there is no account `{name}`: there are {known}")]
    UnknownAccount { name: AccountName, known: String },
    #[error(
        "account {name} is not open to you: {mend}, or ask an operator to add you to its `users` \
         in kantctld.toml"
    )]
    AccountClosed {
        name: AccountName,
        /// An alternative, as an imperative.
        mend: String,
    },
    #[error(
        "queue {queue} gives whole GPUs only: ask for --gpus=1, or name a queue with \
         `share_gpus = true`"
    )]
    WholeGpusOnly { queue: QueueName },
    #[error("the deadline {deadline} has passed: give a later --deadline")]
    DeadlinePassed { deadline: Time },
    #[error(
        "a job of {limit} that starts at {start}, the earliest time, would end after its deadline \
         {deadline}: lower --time, or give a later --deadline"
    )]
    DeadlineTooEarly { deadline: Time, start: Time, limit: Span },
    #[error("there is no reservation `{name}`: see `kantctl reservations`")]
    UnknownReservation { name: ReservationName },
    #[error("reservation {name} is not open to you: leave --reservation out, or ask an operator")]
    ReservationClosed { name: ReservationName },
    #[error("reservation `{name}` already exists: choose another name, or delete it first")]
    ReservationExists { name: ReservationName },
    #[error(
        "node {node} is in reservation {other} from {from} to {to}: choose another node or \
         another time"
    )]
    ReservationOverlaps {
        /// The first node with a conflict.
        node: NodeName,
        other: ReservationName,
        from: Time,
        to: Time,
    },
    /// No set of existing nodes can hold the job.
    #[error("{reason}; {mend}submit with --hold to keep it until there is such a node")]
    NeverFits {
        reason: Box<WaitReason>,
        /// A request that would fit, as an imperative followed by ", or "; empty if none is known.
        #[serde(default)]
        mend: String,
    },
    /// The job alone exceeds a quota or a limit.
    #[error(
        "{reason}; ask for less, name another queue (`kantctl queues`), or submit with --hold to \
         keep it until the limit is raised"
    )]
    NeverAdmitted { reason: Box<WaitReason> },
    /// The job asks for a topology level that is not configured.
    #[error(
        "no {} is configured here, so no nodes count as near each other: leave --near out, or ask \
         an operator to describe the network in kantctld.toml",
        level_text(*level)
    )]
    NoSuchLevel { level: Level },
    #[error("an operator holds job {key}: ask an operator to release it")]
    HeldByOperator { key: JobKey },
    #[error("job {key} is not held: there is nothing to release; see `kantctl explain {key}`")]
    NotHeld { key: JobKey },
    #[error("there is no node {name}: see `kantctl nodes`")]
    UnknownNode { name: NodeName },
    /// Two machines use one name.
    #[error(
        "a node named {name} is already connected from another machine: \
         give this one another `name` in kantd.toml, or stop the other"
    )]
    NodeNameTaken { name: NodeName },
    #[error("only operators may raise a job's priority with a negative --nice")]
    NiceNegative,
    /// The job's owner or the cluster is at a limit.
    #[error(transparent)]
    NoRoom(NoRoom),
    /// The script and environment of a finished job are no longer kept.
    #[error(
        "the script and environment of job {job} are no longer kept: only those of each user's \
         latest finished jobs are; submit it again"
    )]
    TextsGone { job: JobId },
    #[error(transparent)]
    Invitation(#[from] InvitationRefusal),
    #[error("{message}")]
    BadAsk { message: String },
}
impl From<AskError> for Refusal {
    fn from(error: AskError) -> Self {
        Self::BadAsk { message: error.to_string() }
    }
}
