//! Why a command was refused: typed, with a stable word for programs and a sentence that says what
//! to do. Never decides; the state does.

mod code;
mod invitation;
mod room;
mod saving;

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

/// Why a command was refused. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no job {key}: see `kantctl queue --all`")]
    UnknownJob {
        /// What was asked for.
        key: JobKey,
    },
    /// One component of a set, which changes as a whole.
    #[error("{n} is part of {s}, which acts as a whole: name {s}", n = .0.name(), s = .0.first)]
    PartOfSet(SetPlace),
    #[error("job {job} belongs to user {owner}: only they and operators may do that")]
    NotYours { job: JobId, owner: String },
    #[error("user {uid} is no operator: operators are named by `admins` in kantctld.toml")]
    OperatorsOnly { uid: Uid },
    #[error(
        "jobs of root are refused: submit as a user, or set `allow_root_jobs` in kantctld.toml and \
         each kantd.toml"
    )]
    RootJob,
    /// The job's phase does not allow it.
    #[error("cannot {verb} job {key}: it is {phase}")]
    WrongPhase {
        key: JobKey,
        verb: String,
        /// The phase it is in.
        phase: Phase,
    },
    /// It does not run, and its work was said to be saved.
    #[error("cannot checkpoint job {key}: it is {phase}; {}", saving::when(*phase))]
    NothingToSave {
        key: JobKey,
        /// The phase it is in.
        phase: Phase,
    },
    /// The job is over.
    #[error("cannot {verb} job {key}: it is over ({outcome})")]
    AlreadyDone { key: JobKey, verb: String, outcome: Outcome },
    #[error("there is no queue `{name}`: there are {known}")]
    UnknownQueue {
        /// What was asked for.
        name: QueueName,
        known: String,
    },
    /// Longer than the queue allows.
    #[error("queue {queue} allows at most {limit} (asked: {asked}): lower --time")]
    TimeLimitTooLong { queue: QueueName, limit: Span, asked: Span },
    /// The queue, or one above it, does not let them in.
    #[error(
        "queue {queue} is not open to you{through}: name another with --queue (see `kantctl \
         queues`), or ask an operator"
    )]
    QueueClosed {
        /// The queue that keeps them out.
        queue: QueueName,
        /// What leads to it: empty, or ", and the queue you named is below it".
        through: String,
    },
    /// No such quality of service.
    #[error("there is no QoS `{name}`: {known}")]
    UnknownQos {
        /// What was asked for.
        name: QosName,
        /// Those there are, in a sentence's end.
        known: String,
    },
    /// The quality of service is for others.
    #[error("QoS {name} is not open to you: leave --qos out, or ask an operator")]
    QosClosed { name: QosName },
    /// Longer than the quality of service allows.
    #[error("QoS {name} allows at most {limit} (asked: {asked}): lower --time")]
    QosTimeLimit { name: QosName, limit: Span, asked: Span },
    #[error("there is no account `{name}`: there are {known}")]
    UnknownAccount {
        /// What was asked for.
        name: AccountName,
        known: String,
    },
    /// An account of others.
    #[error(
        "account {name} is not open to you: {mend}, or ask an operator to add you to its `users` \
         in kantctld.toml"
    )]
    AccountClosed {
        name: AccountName,
        /// What they may name instead, as a command to them.
        mend: String,
    },
    /// The queue does not share GPUs.
    #[error(
        "queue {queue} gives whole GPUs only: ask for --gpus=1, or name a queue with \
         `share_gpus = true`"
    )]
    WholeGpusOnly { queue: QueueName },
    /// The deadline is over.
    #[error("the deadline {deadline} is over: give a later --deadline")]
    DeadlinePassed { deadline: Time },
    /// Even a start as early as possible ends too late.
    #[error(
        "started at {start} at the earliest, a job of {limit} is not over by its deadline \
         {deadline}: lower --time, or give a later --deadline"
    )]
    DeadlineTooEarly { deadline: Time, start: Time, limit: Span },
    #[error("there is no reservation `{name}`: see `kantctl reservations`")]
    UnknownReservation {
        /// What was asked for.
        name: ReservationName,
    },
    /// The reservation is for others, or for nobody.
    #[error("reservation {name} is not open to you: leave --reservation out, or ask an operator")]
    ReservationClosed { name: ReservationName },
    /// The name is taken.
    #[error("there is a reservation `{name}` already: choose another name, or delete it first")]
    ReservationExists { name: ReservationName },
    /// A node is booked already for some of the time.
    #[error(
        "node {node} is booked by reservation {other} from {from} to {to}: take another node or \
         another time"
    )]
    ReservationOverlaps {
        /// The first such node.
        node: NodeName,
        other: ReservationName,
        from: Time,
        to: Time,
    },
    /// Can never run on the nodes there are.
    #[error("{reason}; {mend}submit with --hold to keep it until there is such a node")]
    NeverFits {
        reason: Box<WaitReason>,
        /// What would fit instead, as a command to them and with ", or " behind; empty: nobody
        /// knows.
        #[serde(default)]
        mend: String,
    },
    /// More than a quota or a limit ever allows.
    #[error(
        "{reason}; ask for less, name another queue (`kantctl queues`), or submit with --hold to \
         keep it until the bound is raised"
    )]
    NeverAdmitted { reason: Box<WaitReason> },
    /// Nodes near each other, where nobody said which are.
    #[error(
        "no {} is configured here, so no nodes count as near each other: leave --near out, or ask \
         an operator to describe the network in kantctld.toml",
        level_text(*level)
    )]
    NoSuchLevel {
        /// What was asked for.
        level: Level,
    },
    /// Held by an operator.
    #[error("an operator holds job {key}: ask one to release it")]
    HeldByOperator { key: JobKey },
    /// Released, and not held.
    #[error("job {key} is not held: there is nothing to release; see `kantctl explain {key}`")]
    NotHeld { key: JobKey },
    #[error("there is no node {name}: see `kantctl nodes`")]
    UnknownNode {
        /// What was asked for.
        name: NodeName,
    },
    /// Two machines with one name.
    #[error(
        "a node named {name} is already connected from another machine: \
         give this one another `name` in kantd.toml, or stop the other"
    )]
    NodeNameTaken { name: NodeName },
    /// Negative `--nice`.
    #[error("only operators may raise a job's priority with a negative --nice")]
    NiceNegative,
    /// Its owner, or the cluster, has too much already.
    #[error(transparent)]
    NoRoom(NoRoom),
    /// Only the latest texts of jobs that are over are kept.
    #[error(
        "the script and environment of job {job} are gone: of jobs that are over only the latest \
         are kept for each user; submit it again"
    )]
    TextsGone { job: JobId },
    /// Of an invitation to controllers.
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
