//! What happened: the answer of `apply` to a command, in past tense. The leader answers clients
//! from these, tells nodes and wakes the scheduler; replicas that follow only count them. Never
//! stored: what people want to read later is in the job's story.

mod about;
mod changed;
mod growth;
mod news;
mod show;

pub use changed::{changed, saved};
pub use growth::Growth;
pub use news::ShareNews;

use crate::ledger::StartRefusal;
use common::id::{Attempt, AttemptId, JobId, JobKey, NodeName, ReservationName, Uid};
use common::job::{ExitStatus, Outcome, PreemptReason, Preempted, StepRecord};
use common::reason::Refusal;
use common::time::Time;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// New settings are in force.
    Configured,
    /// A job was accepted, or had been: the same request came before.
    JobSubmitted {
        job: JobId,
        /// How many elements: 1, or the tasks of an array.
        tasks: u32,
        /// It was accepted earlier; nothing changed now.
        repeated: bool,
    },
    /// A waiting job is held.
    JobHeld {
        key: JobKey,
        by: Uid,
    },
    /// A held job waits freely again.
    JobReleased {
        key: JobKey,
        by: Uid,
    },
    /// A job asks for something else.
    JobUpdated {
        key: JobKey,
        by: Uid,
        /// What is otherwise, in words ([`common::job::Patch::told`]).
        what: String,
        /// Those that run it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<NodeName>,
    },
    /// A job was given its allocation; its nodes are to prepare (or run) it.
    JobStarted {
        id: AttemptId,
        /// Its nodes, in rank order.
        nodes: Vec<NodeName>,
    },
    /// A node's share of an attempt moved on.
    StepReported {
        id: AttemptId,
        node: NodeName,
        news: ShareNews,
    },
    /// The steps of an attempt, told by its first node as its share ended.
    JobStepsEnded {
        id: AttemptId,
        steps: Vec<StepRecord>,
    },
    /// Every node of a gang is ready: all may run.
    JobReady {
        id: AttemptId,
        nodes: Vec<NodeName>,
    },
    /// Every node runs its share.
    JobRunning {
        id: AttemptId,
    },
    /// A running job is to stand still.
    JobSuspended {
        id: AttemptId,
        by: Uid,
        /// The nodes that hold it.
        nodes: Vec<NodeName>,
    },
    /// A suspended job is to go on.
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
    /// A running job was given another size.
    JobResized {
        id: AttemptId,
        /// Who asked; root where it had to, for the job and the reason that follow.
        by: Uid,
        /// For whom it had to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preempted: Option<Preempted>,
        /// It goes on with so many tasks.
        tasks: Tasks,
        /// On these nodes, in rank order.
        stays: Vec<NodeName>,
        /// These are to let go of it.
        leaves: Vec<NodeName>,
        /// All that hold it.
        nodes: Vec<NodeName>,
    },
    /// A running job is given nodes, or could be.
    JobGrowth {
        id: AttemptId,
        /// How far that is.
        news: Growth,
    },
    /// An attempt's end was decided; what still lives of it is to stop.
    JobEnded {
        id: AttemptId,
        outcome: Outcome,
        /// How the deciding share exited; `None` if no process of it did.
        exit: Option<ExitStatus>,
        /// Who asked for it; `None` if it ended by itself.
        by: Option<Uid>,
        /// It was made to yield: for whom, and why.
        preempted: Option<Preempted>,
        /// It goes back to its queue afterwards.
        requeue: bool,
        /// The nodes that have not let go of it yet.
        nodes: Vec<NodeName>,
    },
    /// A waiting job makes another one yield.
    JobPreempts {
        /// Who needs the room.
        key: JobKey,
        victim: AttemptId,
        why: PreemptReason,
    },
    /// Before an end was carried out, another was decided.
    JobEndChanged {
        id: AttemptId,
        outcome: Outcome,
        /// Who asked for it.
        by: Option<Uid>,
        /// It goes back to its queue afterwards.
        requeue: bool,
    },
    /// A job is over and holds nothing.
    JobDone {
        key: JobKey,
        /// Its last attempt; 0 if it never started.
        attempt: Attempt,
        outcome: Outcome,
        /// Who cancelled it, if it was cancelled before it started.
        by: Option<Uid>,
    },
    /// A job waits again, for another attempt.
    JobRequeued {
        key: JobKey,
        /// The attempt that is behind it.
        attempt: Attempt,
        /// It had been made to yield to this one.
        preempted_by: Option<JobKey>,
    },
    /// A job waits a while before its next attempt: the last one ended by a fault not its own.
    JobDelayed {
        key: JobKey,
        /// Its next attempt does not start before.
        until: Time,
        /// What was wrong, if its node said so.
        why: Option<String>,
    },
    /// A job is held, for too many of its attempts in a row ended by faults not its own.
    JobHeldForFaults {
        key: JobKey,
        in_a_row: u32,
        /// What was wrong with the last, if its node said so.
        why: Option<String>,
    },
    /// What a job waits for of others is another, or further: it may start, or never. Of an array
    /// all tasks, where none is named. In no story; that is told to the job itself.
    DependencyMoved {
        key: JobKey,
    },
    /// A finished job left the state, with all its elements.
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
    /// A node was given up; its shares ended as Lost.
    NodeLost {
        name: NodeName,
    },
    /// No new jobs start on a node.
    NodeDrained {
        name: NodeName,
        by: Uid,
        reason: String,
    },
    /// Jobs start on a node again.
    NodeResumed {
        name: NodeName,
        by: Uid,
    },
    ReservationCreated {
        name: ReservationName,
    },
    /// A booking is another: its nodes, its time, or who may use it.
    ReservationChanged {
        name: ReservationName,
        by: Uid,
    },
    /// A booking was given up.
    ReservationDeleted {
        name: ReservationName,
        by: Uid,
    },
    /// A booking's time is over.
    ReservationExpired {
        name: ReservationName,
    },
    /// One more controller may join.
    ControllerInvited {
        by: Uid,
        until: Time,
    },
    /// A controller joins by an invitation.
    InvitationUsed {
        /// Who made the invitation.
        by: Uid,
        /// Where the controller is reached.
        address: String,
    },
    /// An entry of a round was overtaken by something else. The next round decides anew.
    RoundEntryRefused {
        /// The attempt it would have been, or was to yield.
        id: AttemptId,
        reason: StartRefusal,
    },
    /// One of many jobs that one command brought was refused; nothing changed by it.
    SubmitRefused {
        /// Its place among them, from 0.
        place: u32,
        refusal: Refusal,
    },
    /// A command was refused; nothing changed.
    CommandRefused(Refusal),
}
