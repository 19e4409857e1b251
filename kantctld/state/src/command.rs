//! The commands of the state machine: the entries of the replicated log. A command is an
//! imperative; `apply` answers it with events. It holds neither the reasons of a decision nor a
//! time: the leader's stamp is in [`Stamped`].
//!
//! Log entries outlive software versions. Variants and fields may be added, and `apply` may treat
//! them differently, from a higher rules level on: see `command/level.rs`.

mod actor;
mod bulk_action;
mod key_action;
mod level;
mod many;
mod round;
mod service;
mod settings;
mod stamped;
mod token;

use crate::invitation::Admits;
use common::health::Finding;
use common::id::{
    AttemptId, DataName, Gid, JobKey, NodeName, RequestKey, ReservationName, Revision, RoleName,
    ServiceName,
};
use common::job::{Ask, ExitStatus, JobSize, Owner, Patch};
use common::node::Inventory;
use common::reservation::Reservation;
use common::rules_level::RulesLevel;
use common::service::{StopReason, UpdateFailure};
use common::time::Span;
use common::token::TokenId;
use common::wire::node::StepStatus;
use serde::{Deserialize, Serialize};

pub use actor::Actor;
pub use bulk_action::{BulkAction, SomeTasks};
pub use key_action::KeyAction;
pub use level::LEVELS;
#[cfg(feature = "next-rules")]
pub(crate) use level::NEXT;
pub use many::{ManyJobs, OneOfMany};
pub use round::{RoundGrow, RoundPreempt, RoundShrink, RoundStart};
pub use service::{Deployment, ReplicaPlace, ServiceAction};
pub use settings::{Settings, UserBounds};
pub use stamped::{Stamped, Target};
pub use token::NewToken;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Sets the settings from the leader's configuration.
    Configure(Settings),
    /// Submits a job. The leader has already made the same checks that `apply` makes.
    SubmitJob {
        /// A repeated key returns the job of the first request.
        request_key: RequestKey,
        owner: Owner,
        /// All groups of the user, as resolved on the leader's host. Access to queues and QoS may
        /// depend on them.
        groups: Vec<Gid>,
        /// Whether the user is an operator, who may use a negative nice value.
        operator: bool,
        /// The node that authenticated the user; `None` if the request came over a controller's own
        /// socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<NodeName>,
        ask: Box<Ask>,
        script: String,
        /// `NAME=value` pairs, each terminated by NUL.
        environment: String,
    },
    /// Submits a set: jobs that start and end together, and whose first job runs the only script.
    /// All of them are accepted or none. Checked like [`Command::SubmitJob`].
    SubmitSet {
        /// A repeated key returns the set of the first request.
        request_key: RequestKey,
        owner: Owner,
        /// All groups of the user, as resolved on the leader's host.
        groups: Vec<Gid>,
        /// Whether the user is an operator, who may use a negative nice value.
        operator: bool,
        /// The node that authenticated the user; `None` if the request came over a controller's own
        /// socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<NodeName>,
        /// The request of each component; 2 to [`common::id::SET_SIZE_MAX`].
        asks: Vec<Ask>,
        script: String,
        /// `NAME=value` pairs, each terminated by NUL.
        environment: String,
    },
    /// Submits many jobs of one user.
    SubmitJobs(ManyJobs),
    /// Ends a waiting or running job.
    CancelJob { actor: Actor, target: Target },
    /// Keeps a waiting job from starting.
    HoldJob { actor: Actor, target: Target },
    /// Releases a held job.
    ReleaseJob { actor: Actor, target: Target },
    /// Changes the request of a job. A waiting job keeps its place in the queue; of a job that has
    /// started only some fields can be changed.
    UpdateJob {
        actor: Actor,
        /// One job; an array is changed as a whole.
        target: Target,
        /// The fields to change.
        patch: Box<Patch>,
    },
    /// Requeues a running or finished job as a new attempt.
    RequeueJob { actor: Actor, target: Target },
    /// Applies one command to some tasks of an array: one part of a command to all of its tasks.
    ActOnTasks { actor: Actor, tasks: SomeTasks, how: BulkAction },
    /// Freezes the processes of a running job. It keeps its allocation.
    SuspendJob {
        actor: Actor,
        /// A job, or an array, of which the running tasks are suspended.
        target: Target,
    },
    /// Resumes a suspended job.
    ResumeJob {
        actor: Actor,
        /// A job, or an array, of which the suspended tasks are resumed.
        target: Target,
    },
    /// Records that all work of a job so far is saved, so that stopping it loses only later work.
    CheckpointJob {
        actor: Actor,
        /// A job, all components of a set, or the running tasks of an array.
        target: Target,
    },
    /// Shrinks a running job: it gives up its last nodes and runs on.
    ResizeJob {
        actor: Actor,
        /// A job, or an array, of which the running tasks are resized.
        target: Target,
        /// The new size.
        size: JobSize,
    },
    /// Carries out the decisions of a round. Each entry is checked again against the ledger.
    EnactRound {
        /// Jobs to preempt; carried out before the starts.
        preempts: Vec<RoundPreempt>,
        /// Jobs that give up nodes and run on; carried out before the starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shrinks: Vec<RoundShrink>,
        /// In the order of the round.
        starts: Vec<RoundStart>,
        /// Jobs that get more nodes; carried out after the starts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grows: Vec<RoundGrow>,
    },
    /// A node's report on its steps.
    ReportSteps { node: NodeName, steps: Vec<StepStatus> },
    /// A node's report on its health.
    ReportHealth {
        node: NodeName,
        /// All current findings; empty if the node is healthy.
        findings: Vec<Finding>,
    },
    /// A node's report on the data that it has.
    ReportData {
        node: NodeName,
        /// All names, in ascending order.
        data: Vec<DataName>,
    },
    /// A node opened a session with its Hello message.
    RegisterNode {
        name: NodeName,
        /// Distinguishes two machines with the same name.
        identity: String,
        /// The address at which others reach the node.
        address: String,
        version: String,
        inventory: Box<Inventory>,
        /// Every step that the node holds.
        steps: Vec<StepStatus>,
    },
    /// A node's session ended.
    NodeSilent { name: NodeName },
    /// A node was silent for too long and is given up.
    NodeLost { name: NodeName },
    /// Stops new jobs from starting on a node.
    DrainNode { actor: Actor, name: NodeName, reason: String },
    /// The same, with a note that is kept.
    #[cfg(feature = "next-rules")]
    DrainWithNote { actor: Actor, name: NodeName, reason: String, note: String },
    /// Lets jobs start on a drained node again.
    ResumeNode { actor: Actor, name: NodeName },
    /// Creates a reservation. The leader has chosen the nodes and the time where the operator left
    /// them open.
    CreateReservation {
        actor: Actor,
        /// The reservation with its nodes and times. Its creator is always the actor, whatever this
        /// field holds.
        reservation: Box<Reservation>,
    },
    /// Replaces the reservation of the same name.
    UpdateReservation {
        actor: Actor,
        /// The whole new reservation. Its creator does not change, whatever this field holds.
        reservation: Box<Reservation>,
    },
    /// Deletes a reservation. Jobs that asked for it go on waiting.
    DeleteReservation { actor: Actor, name: ReservationName },
    /// Creates a service, or gives it a new revision.
    DeployService(Box<Deployment>),
    /// Scales, pauses, resumes, promotes, rolls back or stops a service.
    ActOnService { actor: Actor, name: ServiceName, action: ServiceAction },
    /// Sets the number of replicas that the policy of a role wants.
    AutoscaleService {
        service: ServiceName,
        role: RoleName,
        replicas: u32,
        reason: Box<common::autoscale::Reason>,
    },
    /// Submits replicas of a service. Several of them start together, or none does.
    StartReplicas { service: ServiceName, revision: Revision, places: Vec<ReplicaPlace> },
    /// Ends a replica.
    StopReplica { key: JobKey, why: StopReason },
    /// An update is complete, or failed.
    EndUpdate { service: ServiceName, revision: Revision, failure: Option<UpdateFailure> },
    /// Removes a stopped service without replicas.
    RemoveService { name: ServiceName },
    /// Invites a controller or nodes to the cluster.
    Invite {
        actor: Actor,
        /// SHA-256 of the secret that the host must present, in hex.
        hash: String,
        lasts: Span,
        admits: Admits,
    },
    /// Ends an invitation before its time.
    WithdrawInvitation {
        actor: Actor,
        /// The beginning of its hash ([`crate::invitation::ID_CHARS`]).
        id: String,
    },
    /// Lets a controller join by an invitation.
    UseInvitation {
        /// SHA-256 of the secret that the controller presented, in hex.
        hash: String,
        /// The address of the new controller.
        address: String,
    },
    /// Lets a node have a certificate by an invitation.
    EnrolNode {
        /// SHA-256 of the secret that the node presented, in hex.
        hash: String,
        name: NodeName,
        /// The public key that the certificate is for, in hex.
        key: String,
    },
    /// Makes a node's certificates invalid.
    RevokeNode { actor: Actor, name: NodeName },
    /// Replaces the cluster key, step by step.
    RotateKey(KeyAction),
    /// Creates a token for the actor.
    CreateToken { actor: Actor, token: Box<NewToken> },
    /// Ends a token of the actor or, for an operator, of any user.
    RevokeToken { actor: Actor, id: TokenId },
    /// A job's deadline has passed ([`crate::jobs_past_deadline`]).
    DeadlineOver { key: JobKey },
    /// An attempt should be running by now and is not ([`crate::overdue`]).
    StartOverdue { id: AttemptId },
    /// The client of a job with a lease has gone away ([`crate::leased`]).
    LeaseOver { key: JobKey },
    /// The programs for which a job's nodes were held have ended.
    FinishJob {
        actor: Actor,
        target: Target,
        /// Their combined exit status.
        exit: ExitStatus,
    },
    /// Forgets finished jobs, request keys, reservations and usage that are old enough. Of many
    /// jobs, one command forgets only some.
    ForgetDone,
    /// Raises the rules level. The leader has seen that all controllers know it.
    RaiseRules { to: RulesLevel },
    /// Ends tasks that can no longer start and asked to be ended in that case. Of many tasks, one
    /// command ends only some.
    EndHopeless,
}
