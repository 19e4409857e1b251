//! Everything that can be asked of the state: what goes into the replicated log. Commands are
//! imperatives; `apply` answers each with events. Never holds a decision's reasons, and never a
//! time of its own: the leader's stamp is in [`Stamped`].
//!
//! Log entries outlive versions: variants and fields may be added (with a serde default); none may
//! change its meaning.

use common::id::{AttemptId, JobKey, NodeName, RequestKey, Uid};
use common::job::{Ask, Owner};
use common::node::Inventory;
use common::queue::Queue;
use common::resource::Allocation;
use common::time::{Span, Time};
use common::wire::node::StepStatus;
use serde::{Deserialize, Serialize};

/// Who asks, as the leader found out. Operators may do everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The user.
    pub uid: Uid,
    /// An operator: root, the controller's own user, or named in `admins`.
    pub operator: bool,
}

/// A command with the leader's time. Stamps never go back: the leader sees to it, and `apply`
/// uses the later of this and the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped<C> {
    /// The leader's clock.
    pub at: Time,
    /// What is asked.
    pub command: C,
}

/// Which jobs a command means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// A job (all tasks of an array) or one array task.
    pub key: JobKey,
}

/// Settings that decide in `apply`, replicated so that all replicas decide alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The cluster's name.
    pub cluster: String,
    /// The queues; exactly one is the default.
    pub queues: Vec<Queue>,
    /// Accept jobs of root.
    pub allow_root_jobs: bool,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// Finished jobs are kept so long.
    pub done_jobs_kept: Span,
}

/// What can be asked of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// New settings, from the leader's configuration.
    Configure(Settings),
    /// A job, checked by the leader with the same checks `apply` makes again.
    SubmitJob {
        /// A repeated key gives the same job again.
        request_key: RequestKey,
        /// Whose.
        owner: Owner,
        /// Are they an operator (negative nice)?
        operator: bool,
        /// What is asked.
        ask: Box<Ask>,
        /// The script's text.
        script: String,
        /// `NAME=value`, each ended by NUL.
        environment: String,
    },
    /// Ends a job, waiting or running.
    CancelJob {
        /// Who asks.
        actor: Actor,
        /// Which.
        target: Target,
    },
    /// Keeps a waiting job from starting.
    HoldJob {
        /// Who asks.
        actor: Actor,
        /// Which.
        target: Target,
    },
    /// Lets a held job go.
    ReleaseJob {
        /// Who asks.
        actor: Actor,
        /// Which.
        target: Target,
    },
    /// Starts a running or finished job again, as a new attempt.
    RequeueJob {
        /// Who asks.
        actor: Actor,
        /// Which.
        target: Target,
    },
    /// What a round decided. Each entry is checked again against the ledger.
    EnactRound {
        /// In the round's order.
        starts: Vec<RoundStart>,
    },
    /// What a node said of its steps.
    ReportSteps {
        /// The node.
        node: NodeName,
        /// The steps.
        steps: Vec<StepStatus>,
    },
    /// A node's session began: its Hello.
    RegisterNode {
        /// The node.
        name: NodeName,
        /// Tells two machines with one name apart.
        identity: String,
        /// Where others reach it.
        address: String,
        /// kantd's version.
        version: String,
        /// What it has.
        inventory: Box<Inventory>,
        /// Every step it holds.
        steps: Vec<StepStatus>,
    },
    /// A node's session ended.
    NodeSilent {
        /// The node.
        name: NodeName,
    },
    /// A node was silent for too long.
    NodeLost {
        /// The node.
        name: NodeName,
    },
    /// No new jobs on a node.
    DrainNode {
        /// Who asks.
        actor: Actor,
        /// The node.
        name: NodeName,
        /// Why.
        reason: String,
    },
    /// Jobs again on a node.
    ResumeNode {
        /// Who asks.
        actor: Actor,
        /// The node.
        name: NodeName,
    },
    /// An attempt should run by now and does not ([`crate::overdue`]).
    StartOverdue {
        /// Which.
        id: AttemptId,
    },
    /// Forgets finished jobs and request keys that are old enough.
    ForgetDone,
}

/// One start a round decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStart {
    /// The attempt this will be: the job's last one plus one; a stale round is refused by it.
    pub id: AttemptId,
    /// What it gets.
    pub allocation: Allocation,
}
