//! The events that a command causes: what happened, in the past tense. From them the leader answers
//! clients, notifies nodes and wakes the scheduler; followers only count them. They are not stored:
//! what users want to read later is in the job's timeline.

mod about;
mod changed;
mod growth;
mod news;

pub use changed::{changed_jobs, saved_at};
pub use growth::Growth;
pub use news::ShareNews;

use crate::ledger::StartRefusal;
use common::id::{
    Attempt, AttemptId, JobId, JobKey, NodeName, ReservationName, Revision, ServiceName, Uid,
};
use common::job::{ExitStatus, Outcome, PreemptReason, Preempted, StepRecord};
use common::reason::Refusal;
use common::rules_level::RulesLevel;
use common::time::Time;
use common::token::TokenId;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// New settings took effect.
    Configured,
    /// A job was accepted, now or by an earlier request with the same key.
    JobSubmitted {
        job: JobId,
        /// The number of elements: 1, or the number of array tasks.
        tasks: u32,
        /// Whether the job was accepted earlier, so that nothing changed now.
        repeated: bool,
    },
    JobHeld {
        key: JobKey,
        by: Uid,
    },
    /// A held job was released.
    JobReleased {
        key: JobKey,
        by: Uid,
    },
    /// The request of a job changed.
    JobUpdated {
        key: JobKey,
        by: Uid,
        /// A description of the change ([`common::job::Patch::summary`]).
        what: String,
        /// The nodes that run it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<NodeName>,
    },
    /// A job got its allocation. Its nodes prepare it, or run it at once.
    JobStarted {
        id: AttemptId,
        /// In rank order.
        nodes: Vec<NodeName>,
    },
    /// A node's share of an attempt made progress.
    StepReported {
        id: AttemptId,
        node: NodeName,
        news: ShareNews,
    },
    /// The steps of an attempt, reported by its first node when that node's share ended.
    JobStepsEnded {
        id: AttemptId,
        steps: Vec<StepRecord>,
    },
    /// Every node of a gang is ready, so all may run.
    JobReady {
        id: AttemptId,
        nodes: Vec<NodeName>,
    },
    /// Every node runs its share.
    JobRunning {
        id: AttemptId,
    },
    /// A running job is suspended.
    JobSuspended {
        id: AttemptId,
        by: Uid,
        /// The nodes that hold it.
        nodes: Vec<NodeName>,
    },
    /// A suspended job is resumed.
    JobResumed {
        id: AttemptId,
        by: Uid,
        /// The nodes that hold it.
        nodes: Vec<NodeName>,
    },
    /// All work of a running job so far is saved.
    JobSaved {
        id: AttemptId,
        by: Uid,
        at: Time,
    },
    /// A running job was shrunk.
    JobResized {
        id: AttemptId,
        /// The user that asked; root if the job was shrunk for another one.
        by: Uid,
        /// The job for which it was shrunk, and the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preempted: Option<Preempted>,
        /// The number of tasks that it keeps.
        tasks: Tasks,
        /// The nodes that it keeps, in rank order.
        stays: Vec<NodeName>,
        /// The nodes that it gives up.
        leaves: Vec<NodeName>,
        /// All nodes that hold it.
        nodes: Vec<NodeName>,
    },
    /// A running job grows, or may grow.
    JobGrowth {
        id: AttemptId,
        news: Growth,
    },
    /// The end of an attempt was decided. What still runs of it is stopped.
    JobEnded {
        id: AttemptId,
        outcome: Outcome,
        /// The exit status of the deciding share; `None` if none of its processes exited.
        exit: Option<ExitStatus>,
        /// The user that asked for it; `None` if the attempt ended by itself.
        by: Option<Uid>,
        /// The preemptor and the reason, if the attempt was preempted.
        preempted: Option<Preempted>,
        /// Whether the job returns to its queue afterwards.
        requeue: bool,
        /// The nodes that still hold it.
        nodes: Vec<NodeName>,
    },
    /// A waiting job preempts another.
    JobPreempts {
        /// The preemptor.
        key: JobKey,
        victim: AttemptId,
        why: PreemptReason,
    },
    /// The end of an attempt was changed before it was carried out.
    JobEndChanged {
        id: AttemptId,
        outcome: Outcome,
        /// The user that asked for it.
        by: Option<Uid>,
        /// Whether the job returns to its queue afterwards.
        requeue: bool,
    },
    /// A job ended and holds nothing.
    JobDone {
        key: JobKey,
        /// Its last attempt; 0 if it never started.
        attempt: Attempt,
        outcome: Outcome,
        /// The user that cancelled it, if it was cancelled before it started.
        by: Option<Uid>,
    },
    /// A job waits again, for another attempt.
    JobRequeued {
        key: JobKey,
        /// The attempt that ended.
        attempt: Attempt,
        /// The job that preempted it.
        preempted_by: Option<JobKey>,
    },
    /// A job waits a while before its next attempt, because the last one ended by a fault not its
    /// own.
    JobDelayed {
        key: JobKey,
        /// The earliest start of its next attempt.
        until: Time,
        /// The fault, if its node reported one.
        why: Option<String>,
    },
    /// A job is held because too many of its attempts in a row ended by faults not its own.
    JobHeldForFaults {
        key: JobKey,
        in_a_row: u32,
        /// The last fault, if its node reported one.
        why: Option<String>,
    },
    /// A dependency of a job changed or made progress: the job may now start, or never will. A key
    /// without an index means all tasks of an array. It has no timeline entry: the user finds it
    /// in the job itself.
    DependencyMoved {
        key: JobKey,
    },
    /// A finished job was removed from the state, with all its elements.
    JobForgotten {
        job: JobId,
    },
    /// A node's session began.
    NodeRegistered {
        name: NodeName,
    },
    /// A node's session ended.
    NodeSilent {
        name: NodeName,
    },
    /// A node was given up, and its shares ended as Lost.
    NodeLost {
        name: NodeName,
    },
    /// No new jobs start on a node.
    NodeDrained {
        name: NodeName,
        by: Uid,
        reason: String,
    },
    /// Jobs may start on a node again.
    NodeResumed {
        name: NodeName,
        by: Uid,
    },
    /// A node has other data than before.
    NodeDataChanged {
        name: NodeName,
    },
    ReservationCreated {
        name: ReservationName,
    },
    /// A reservation changed: its nodes, its time, or who may use it.
    ReservationChanged {
        name: ReservationName,
        by: Uid,
    },
    ReservationDeleted {
        name: ReservationName,
        by: Uid,
    },
    /// A reservation expired.
    ReservationExpired {
        name: ReservationName,
    },
    /// A service was created, or something about it changed.
    ServiceChanged {
        name: ServiceName,
        /// Its current revision.
        revision: Revision,
    },
    /// A stopped service was removed.
    ServiceRemoved {
        name: ServiceName,
    },
    /// A controller or nodes may join.
    Invited {
        by: Uid,
        until: Time,
    },
    /// An invitation ended before its time.
    InvitationWithdrawn {
        id: String,
        by: Uid,
    },
    /// A node may have certificates of this enrolment.
    NodeEnrolled {
        name: NodeName,
        number: u32,
        /// The user that made the invitation.
        by: Uid,
    },
    /// A node's certificates are invalid.
    NodeRevoked {
        name: NodeName,
        by: Uid,
    },
    /// All controllers know a higher rules level, and it is in force.
    RulesRaised {
        to: RulesLevel,
    },
    /// A step of the replacement of the cluster key began, or the replacement ended.
    KeyStepBegun {
        generation: u32,
        /// An operator; `None`: all hosts had followed.
        by: Option<Uid>,
    },
    /// A controller joined by an invitation.
    InvitationUsed {
        /// The user that made the invitation.
        by: Uid,
        /// The address of the new controller.
        address: String,
    },
    /// A program may act for a user.
    TokenCreated {
        id: TokenId,
        uid: Uid,
        until: Time,
    },
    TokenRevoked {
        id: TokenId,
        /// The user of the token.
        uid: Uid,
        by: Uid,
    },
    /// An entry of a round was refused because the state had changed meanwhile. The next round
    /// decides again.
    RoundEntryRefused {
        /// The attempt that would have started or yielded.
        id: AttemptId,
        reason: StartRefusal,
    },
    /// One job of a submission of many jobs was refused. It changed nothing.
    SubmitRefused {
        /// Its index in the submission, from 0.
        place: u32,
        refusal: Refusal,
    },
    /// A command was refused. It changed nothing.
    CommandRefused(Refusal),
}
