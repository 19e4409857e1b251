//! Reasons why a command was refused: typed, with a stable code for programs, a sentence that says
//! what failed, and a hint that says what to do next.

mod checkpoint;
mod code;
mod hint;
mod invitation;
mod key_rotation;
mod room;
mod service;
mod token;

pub use invitation::InvitationRefusal;
pub use key_rotation::KeyRotationRefusal;
pub use room::NoRoom;
pub use service::ServiceRefusal;
pub use token::TokenRefusal;

use super::WaitReason;
use super::sentence::level_text;
use crate::gpu::GpuKind;
use crate::id::{AccountName, JobId, JobKey, NodeName, QosName, QueueName, ReservationName, Uid};
use crate::job::check::AskError;
use crate::job::{Outcome, Phase, SetPlace};
use crate::right::Right;
use crate::time::{Span, Time};
use crate::topology::Level;
use crate::unit::{Gpus, Nodes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a command was refused. A refused command changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no job {key}")]
    UnknownJob { key: JobKey },
    /// A component of a het job, which changes as a whole.
    #[error("{} is a component of {}, which changes as a whole", .0.name(), .0.first)]
    PartOfSet(SetPlace),
    #[error("job {job} belongs to user {owner}: only {right} may do that")]
    NotYours {
        job: JobId,
        owner: String,
        /// What the user lacks.
        #[serde(default)]
        right: Right,
    },
    #[error("user {uid} is not an operator")]
    OperatorsOnly { uid: Uid },
    #[error("user {uid} is neither an operator nor a viewer nor support")]
    ViewersOnly { uid: Uid },
    /// A change by a coordinator.
    #[error("job {job} would be in a queue or an account that you do not coordinate")]
    NotCoordinated { job: JobId },
    #[error("root may not submit jobs")]
    RootJob,
    #[error("cannot {verb} job {key}: it is {phase}")]
    WrongPhase { key: JobKey, verb: String, phase: Phase },
    /// A repeated cancel: nothing is left to do.
    #[error("job {key} is already ending")]
    AlreadyEnding { key: JobKey },
    #[error("cannot checkpoint job {key}: it is {phase}")]
    NothingToSave { key: JobKey, phase: Phase },
    #[error("cannot {verb} job {key}: it has ended ({outcome})")]
    AlreadyDone { key: JobKey, verb: String, outcome: Outcome },
    #[error("there is no queue `{name}`")]
    UnknownQueue { name: QueueName, known: Vec<QueueName> },
    #[error("queue {queue} allows at most {limit} (requested: {asked})")]
    TimeLimitTooLong { queue: QueueName, limit: Span, asked: Span },
    #[error("queue {queue} is not open to you{}", below_queue_text(below.as_ref()))]
    QueueClosed {
        /// The queue that excludes the user.
        queue: QueueName,
        /// The queue that was named, if it is another, below it.
        below: Option<QueueName>,
    },
    #[error("there is no QoS `{name}`")]
    UnknownQos {
        name: QosName,
        /// The existing ones.
        known: Vec<QosName>,
    },
    #[error("QoS {name} is not open to you")]
    QosClosed { name: QosName },
    #[error("QoS {name} allows at most {limit} (requested: {asked})")]
    QosTimeLimit { name: QosName, limit: Span, asked: Span },
    #[error("there is no account `{name}`")]
    UnknownAccount { name: AccountName, known: Vec<AccountName> },
    #[error("account {name} is not open to you")]
    AccountClosed {
        name: AccountName,
        /// The accounts of which the user is a member.
        open: Vec<AccountName>,
    },
    #[error("queue {queue} gives whole GPUs only")]
    WholeGpusOnly { queue: QueueName },
    #[error("the deadline {deadline} has passed")]
    DeadlinePassed { deadline: Time },
    #[error(
        "a job of {limit} that starts at {start}, the earliest time, would end after its deadline \
         {deadline}"
    )]
    DeadlineTooEarly { deadline: Time, start: Time, limit: Span },
    #[error("there is no reservation `{name}`")]
    UnknownReservation { name: ReservationName },
    #[error("reservation {name} is not open to you")]
    ReservationClosed { name: ReservationName },
    #[error("reservation `{name}` already exists")]
    ReservationExists { name: ReservationName },
    #[error("node {node} is in reservation {other} from {from} to {to}")]
    ReservationOverlaps {
        /// The first node with a conflict.
        node: NodeName,
        other: ReservationName,
        from: Time,
        to: Time,
    },
    /// No set of existing nodes can hold the job.
    #[error("{reason}")]
    NeverFits {
        reason: Box<WaitReason>,
        /// What would fit; `None`: nothing is known.
        mend: Option<Mend>,
    },
    /// The job alone exceeds a quota or a limit.
    #[error("{reason}")]
    NeverAdmitted { reason: Box<WaitReason> },
    /// The job asks for a topology level that is not configured.
    #[error(
        "no {} is configured here, so no nodes count as near each other",
        level_text(*level)
    )]
    NoSuchLevel { level: Level },
    #[error("an operator holds job {key}")]
    HeldByOperator { key: JobKey },
    #[error("a coordinator holds job {key}")]
    HeldByCoordinator { key: JobKey },
    /// A requeue by a coordinator or support.
    #[error(
        "only the owner of job {key} and operators may requeue it: it was cancelled, ended by \
         itself, or was submitted with --no-requeue"
    )]
    OwnerRequeues { key: JobKey },
    #[error("job {key} is not held: there is nothing to release")]
    NotHeld { key: JobKey },
    #[error("there is no node {name}")]
    UnknownNode { name: NodeName },
    /// Two machines use one name.
    #[error("a node named {name} is already connected from another machine")]
    NodeNameTaken { name: NodeName },
    #[error("only operators may raise a job's priority with a negative --nice")]
    NiceNegative,
    /// The job's owner or the cluster is at a limit.
    #[error(transparent)]
    NoRoom(NoRoom),
    /// The script and environment of a finished job are no longer kept.
    #[error(
        "the script and environment of job {job} are no longer kept: only those of each user's \
         latest finished jobs are"
    )]
    TextsGone { job: JobId },
    #[error(transparent)]
    Invitation(#[from] InvitationRefusal),
    #[error(transparent)]
    KeyRotation(#[from] KeyRotationRefusal),
    #[error(transparent)]
    Service(#[from] ServiceRefusal),
    #[error(transparent)]
    Token(#[from] TokenRefusal),
    #[error("{message}")]
    BadAsk { message: String },
}

/// A request that would fit where another never does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mend {
    LeaveRequiredOut,
    LeaveGpusOut,
    OtherKinds(Vec<GpuKind>),
    /// On this many nodes, with this many GPUs on each.
    Split {
        nodes: Nodes,
        kind: Option<GpuKind>,
        each: Gpus,
    },
}

fn below_queue_text(below: Option<&QueueName>) -> String {
    below.map_or_else(String::new, |below| format!(", and {below} is below it"))
}

impl From<AskError> for Refusal {
    fn from(error: AskError) -> Self {
        Self::BadAsk { message: error.to_string() }
    }
}
