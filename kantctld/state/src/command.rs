//! Everything that can be asked of the state: what goes into the replicated log. Commands are
//! imperatives; `apply` answers each with events. Never holds a decision's reasons, and never a
//! time of its own: the leader's stamp is in [`Stamped`].
//!
//! Log entries outlive versions: variants and fields may be added (with a serde default); none may
//! change its meaning.

mod actor;
mod many;
mod round;
mod settings;
mod stamped;
mod steer;

use common::health::Finding;
use common::id::{AttemptId, Gid, JobKey, NodeName, RequestKey, ReservationName};
use common::job::{Ask, ExitStatus, JobSize, Owner, Patch};
use common::node::Inventory;
use common::reservation::Reservation;
use common::time::Span;
use common::wire::node::StepStatus;
use serde::{Deserialize, Serialize};

pub use actor::Actor;
pub use many::{ManyJobs, OneOfMany};
pub use round::{RoundGrow, RoundPreempt, RoundShrink, RoundStart};
pub use settings::{Settings, UserBounds};
pub use stamped::{Stamped, Target};
pub use steer::{SomeTasks, Steering};

/// What can be asked of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// New settings, from the leader's configuration.
    Configure(Settings),
    /// A job, checked by the leader with the same checks `apply` makes again.
    SubmitJob {
        /// A repeated key gives the same job again.
        request_key: RequestKey,
        owner: Owner,
        /// All groups of theirs, as the leader's host knows them; for queues and QoS that are open
        /// to groups.
        #[serde(default)]
        groups: Vec<Gid>,
        /// Are they an operator (negative nice)?
        operator: bool,
        /// The node that vouched for the user; `None`: they asked on a controller's own socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<NodeName>,
        ask: Box<Ask>,
        script: String,
        /// `NAME=value`, each ended by NUL.
        environment: String,
    },
    /// A set: jobs that start together and end together, with one script, which the first runs. All
    /// or none of them; checked as [`Command::SubmitJob`] is.
    SubmitSet {
        /// A repeated key gives the same set again.
        request_key: RequestKey,
        owner: Owner,
        /// All groups of theirs, as the leader's host knows them.
        groups: Vec<Gid>,
        /// Are they an operator (negative nice)?
        operator: bool,
        /// The node that vouched for the user; `None`: they asked on a controller's own socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<NodeName>,
        /// What each component asks for; 2 to [`common::id::SET_SIZE_MAX`].
        asks: Vec<Ask>,
        script: String,
        /// `NAME=value`, each ended by NUL.
        environment: String,
    },
    /// Many jobs of one user.
    SubmitJobs(ManyJobs),
    /// Ends a job, waiting or running.
    CancelJob { actor: Actor, target: Target },
    /// Keeps a waiting job from starting.
    HoldJob { actor: Actor, target: Target },
    /// Lets a held job go.
    ReleaseJob { actor: Actor, target: Target },
    /// Changes what a waiting job asks for. It keeps its place.
    UpdateJob {
        actor: Actor,
        /// Which; of an array: all its tasks.
        target: Target,
        /// What is asked otherwise.
        patch: Box<Patch>,
        /// One that has started may be changed, too, as far as that goes. In logs of builds that
        /// refused that: false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        living: bool,
    },
    /// Starts a running or finished job again, as a new attempt.
    RequeueJob { actor: Actor, target: Target },
    /// A part of what is asked of all tasks of an array.
    SteerTasks { actor: Actor, tasks: SomeTasks, how: Steering },
    /// Lets the processes of a running job stand still. It keeps all that it holds.
    SuspendJob {
        actor: Actor,
        /// Which; of an array: its tasks that run.
        target: Target,
    },
    /// Lets a suspended job go on.
    ResumeJob {
        actor: Actor,
        /// Which; of an array: its tasks that are suspended.
        target: Target,
    },
    /// All work of a job so far is saved: it loses only what it does from now on.
    CheckpointJob {
        actor: Actor,
        /// Which; of a set: all components, of an array: its tasks that run.
        target: Target,
    },
    /// Gives a job that runs another size: it gives nodes up, the last ones, and runs on.
    ResizeJob {
        actor: Actor,
        /// Which; of an array: its tasks that run.
        target: Target,
        /// How large it is to be.
        size: JobSize,
    },
    /// What a round decided. Each entry is checked again against the ledger.
    EnactRound {
        /// Who is to make room; before the starts.
        #[serde(default)]
        preempts: Vec<RoundPreempt>,
        /// Who is to make room and run on; before the starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shrinks: Vec<RoundShrink>,
        /// In the round's order.
        starts: Vec<RoundStart>,
        /// Who is given more; after the starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grows: Vec<RoundGrow>,
    },
    /// What a node said of its steps.
    ReportSteps { node: NodeName, steps: Vec<StepStatus> },
    /// All that a node finds wrong with itself.
    ReportHealth {
        node: NodeName,
        /// Everything; none: it is well.
        findings: Vec<Finding>,
    },
    /// A node's session began: its Hello.
    RegisterNode {
        name: NodeName,
        /// Tells two machines with one name apart.
        identity: String,
        /// Where others reach it.
        address: String,
        version: String,
        inventory: Box<Inventory>,
        /// Every step it holds.
        steps: Vec<StepStatus>,
    },
    /// A node's session ended.
    NodeSilent { name: NodeName },
    /// A node was silent for too long.
    NodeLost { name: NodeName },
    /// No new jobs on a node.
    DrainNode { actor: Actor, name: NodeName, reason: String },
    /// Jobs again on a node.
    ResumeNode { actor: Actor, name: NodeName },
    /// Books nodes. The leader has chosen them, and the time, where the operator left that open.
    CreateReservation {
        actor: Actor,
        /// With its nodes and times. Who made it is the actor, whatever it says.
        reservation: Box<Reservation>,
    },
    /// Puts a booking in the place of the one of its name.
    UpdateReservation {
        actor: Actor,
        /// All of it. Who made it stays, whatever it says.
        reservation: Box<Reservation>,
    },
    /// Gives a booking up. Jobs that asked for it wait.
    DeleteReservation { actor: Actor, name: ReservationName },
    /// One more controller may join the cluster.
    InviteController {
        actor: Actor,
        /// Of the secret that it has to know: SHA-256, in hex.
        hash: String,
        lasts: Span,
    },
    /// A controller joins by an invitation.
    UseInvitation {
        /// Of the secret that it knows.
        hash: String,
        /// Where it is reached.
        address: String,
    },
    /// A job's deadline is over ([`crate::missed`]).
    DeadlineOver { key: JobKey },
    /// An attempt should run by now and does not ([`crate::overdue`]).
    StartOverdue { id: AttemptId },
    /// Nobody waits any more for a job that lives on a lease ([`crate::leased`]).
    LeaseOver { key: JobKey },
    /// The programs that a job's nodes were held for are over.
    FinishJob {
        actor: Actor,
        target: Target,
        /// How they ended, as one.
        exit: ExitStatus,
    },
    /// Forgets finished jobs, request keys, bookings and usage that are old enough; some of the
    /// jobs, where they are many.
    ForgetDone,
    /// Ends tasks that cannot start any more and asked for that; some of them, where they are many.
    EndHopeless,
}
